//! Unpacks the default model, so that the program holds it ready for use.

// Not the library itself: it would be compiled twice. The link beside this file is followed when the crate is packaged.
#[path = "layout.rs"]
#[allow(dead_code)]
mod layout;

use std::io::Read;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=layout.rs");
    println!("cargo::rerun-if-changed=english.model.gz");
    if std::env::var_os("CARGO_FEATURE_NO_EMBEDDED_MODEL").is_some() {
        return;
    }
    if let Err(message) = unpack() {
        println!("cargo::error=the default model english.model.gz: {message}");
        println!("cargo::error=to build a program without a model, enable the feature no-embedded-model");
        std::process::exit(1);
    }
}

fn unpack() -> Result<(), String> {
    let file = std::fs::read("english.model.gz").map_err(|error| error.to_string())?;
    let mut model = Vec::new();
    let mut decoder = flate2::read::MultiGzDecoder::new(&file[..]);
    decoder.read_to_end(&mut model).map_err(|error| error.to_string())?;
    if model.starts_with(layout::PACKED_MAGIC) {
        model = layout::unpack(&model, usize::MAX)?;
    }
    let folder = std::env::var("OUT_DIR").expect("cargo gives a folder");
    std::fs::write(Path::new(&folder).join("english.model"), model).map_err(|error| error.to_string())
}
