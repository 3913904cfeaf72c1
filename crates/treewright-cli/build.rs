//! Unpacks the default model, so that the program holds it ready for use.

use std::fs::File;
use std::io::{BufWriter, Write, copy};
use std::path::Path;

fn main() {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/english.model.gz");
    println!("cargo::rerun-if-changed={}", packed.display());
    let folder = std::env::var("OUT_DIR").expect("cargo gives a folder");
    let mut out = BufWriter::new(File::create(Path::new(&folder).join("english.model")).expect("a file"));
    // Without the file the program has no default model, and says so when it is asked for one.
    if let Ok(file) = File::open(&packed) {
        copy(&mut flate2::read::GzDecoder::new(file), &mut out).expect("the model is a gzip file");
    }
    out.flush().expect("room for the model");
}
