//! The models that come with the program: what is said of them is so.

use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::common::stdout;

#[derive(Deserialize)]
struct Manifest {
    model: Vec<Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    name: String,
    file: String,
    size: usize,
    sha256: String,
    licence: String,
    data: Vec<String>,
    command: String,
}

#[test]
fn the_manifest_describes_the_model_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let manifest = std::fs::read_to_string(folder.join("manifest.toml")).expect("the manifest");
    let listed = toml::from_str::<Manifest>(&manifest).expect("TOML").model;
    let mut files = Vec::new();
    for model in listed {
        let bytes = std::fs::read(folder.join(&model.file)).expect(&model.file);
        let digest = Sha256::digest(&bytes).iter().fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("memory");
            text
        });
        assert_eq!((bytes.len(), digest), (model.size, model.sha256), "{}", model.file);
        assert_eq!(model.file, format!("{}.model.gz", model.name));
        assert!(model.licence.starts_with("CC-BY") && !model.data.is_empty(), "{}", model.name);
        assert!(model.command.ends_with(&format!("--only {}", model.name)), "{}", model.command);
        files.push(model.file);
    }
    let all = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut all: Vec<String> = all.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    all.retain(|name| name.ends_with(".model.gz"));
    all.sort();
    files.sort();
    assert_eq!(files, all);
}

/// Models of the version before are among those that come with the program, and give the trees they were made for.
#[test]
fn models_of_the_version_before_are_read() {
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/koine-greek.model.gz");
    let mut file = flate2::read::GzDecoder::new(std::fs::File::open(model).expect("the model"));
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut file, &mut bytes).expect("gzip");
    let places = bytes.windows(8).enumerate().filter(|(_, window)| *window == b"TREEWRT\n");
    let versions: Vec<u8> = places.map(|(at, _)| bytes[at + 8]).collect();
    assert_eq!(versions, [5], "the parser in it is of version 5");
    let tree = stdout(&["parse", "--model", model, "--from", "tokens"], "ἐν ἀρχῇ ἦν ὁ λόγος\n");
    let expected = "(TOP (S (CL (ADV (pp (prep 0=ἐν) (np (noun 1=ἀρχῇ)))) (V (vp (verb 2=ἦν))) (S (np (det 3=ὁ) (np (noun 4=λόγος)))))))";
    assert_eq!(tree.trim_end(), expected);
}

/// Registries take packages of up to 10 MB; the rest of the package needs a tenth of that.
#[test]
fn the_model_in_the_program_fits_into_a_package() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("english.model.gz");
    let size = std::fs::metadata(path).expect("the model").len();
    assert!(size <= 9_300_000, "{size} bytes");
}

#[test]
fn the_version_names_the_data_of_the_model_and_its_licence() {
    let version = stdout(&["--version"], "");
    let info: serde_json::Value = serde_json::from_str(&stdout(&["info", "--json"], "")).expect("JSON");
    let notes =
        info["parts"].as_array().expect("parts").iter().filter_map(|part| part["config"]["note"].as_str());
    let mut n_notes = 0;
    for note in notes.flat_map(|note| note.split("; ")) {
        assert!(version.contains(note), "{note}: {version}");
        n_notes += 1;
    }
    assert!(n_notes >= 3 && version.contains("english, CC BY-SA 4.0"), "{version}");
    assert_eq!(stdout(&["-V"], "").trim(), concat!("treewright ", env!("CARGO_PKG_VERSION")));
}
