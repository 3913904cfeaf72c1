//! Where models come from: the one in the program, or files by path or by name.

use std::path::{Path, PathBuf};

use treewright::pipeline::Pipeline;
use treewright::{Code, Error, Result};

/// The name of the model in the program.
pub const EMBEDDED: &str = "english";

/// Weights are used where they lie, so they must lie on whole words.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

static ENGLISH: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/english.model")));

/// The model in the program.
pub fn embedded() -> Result<Pipeline> {
    if ENGLISH.0.is_empty() {
        let message = "this program was built without a default model: name one with --model";
        return Err(Error::new(Code::BadModel, 0, 0, message));
    }
    Pipeline::from_static(&ENGLISH.0, EMBEDDED)
}

/// The folders where models are looked for by name: `$TREEWRIGHT_MODELS`, `models` here, and beside the program.
pub fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("TREEWRIGHT_MODELS").map(PathBuf::from).into_iter().collect();
    folders.push(PathBuf::from("models"));
    if let Some(beside) = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("models"))) {
        folders.push(beside);
    }
    folders
}

/// Opens a model by path or name; the one in the program if none is given.
pub fn open(model: Option<&str>) -> Result<Pipeline> {
    let Some(model) = model else { return embedded() };
    if Path::new(model).is_file() {
        return Pipeline::open(model);
    }
    let candidates = folders().into_iter().flat_map(|folder| {
        ["model", "model.gz"].map(|extension| folder.join(format!("{model}.{extension}")))
    });
    match candidates.into_iter().find(|path| path.is_file()) {
        Some(path) => Pipeline::open(path),
        None if model == EMBEDDED => embedded(),
        None => {
            let message = "there is no such file, and no model of this name (treewright models lists them)";
            Err(Error::new(Code::Io, 0, 0, message).in_file(model))
        }
    }
}
