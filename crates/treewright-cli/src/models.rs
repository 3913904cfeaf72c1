//! Where models come from: the one in the program, or files by path or by name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use treewright::pipeline::Pipeline;
use treewright::{Code, Error, Result};

use crate::io::Output;

/// The name of the model in the program.
pub const EMBEDDED: &str = "english";

/// What `--version` says: the program and the model in it have different licences.
#[cfg(not(feature = "no-embedded-model"))]
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nLicence of the program: MIT OR Apache-2.0\n",
    "Model in the program: english, CC BY-SA 4.0, trained on\n",
    "  Universal Dependencies English EWT (CC BY-SA 4.0)\n",
    "  GUM, the documents with free texts (CC BY / CC BY-SA)\n",
    "  CRAFT, treebank of biomedical articles (CC BY 3.0)\n",
    "  GloVe word vectors (PDDL)"
);

/// What `--version` says.
#[cfg(feature = "no-embedded-model")]
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nLicence of the program: MIT OR Apache-2.0\n",
    "There is no model in the program."
);

/// What follows a model's name in the name of its file.
const ENDINGS: [&str; 2] = [".model", ".model.gz"];

/// Weights are used where they lie, so they must lie on whole words.
#[cfg(not(feature = "no-embedded-model"))]
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

#[cfg(not(feature = "no-embedded-model"))]
static ENGLISH: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/english.model")));

/// The model in the program.
#[cfg(not(feature = "no-embedded-model"))]
pub fn embedded() -> Result<Pipeline> {
    Pipeline::from_static(&ENGLISH.0, EMBEDDED)
}

/// The program was built without one.
#[cfg(feature = "no-embedded-model")]
pub fn embedded() -> Result<Pipeline> {
    let message = "this program was built without a default model: name one with --model";
    Err(Error::new(Code::BadModel, message))
}

/// Writes a model, whole or not at all; packed if its name asks for gzip.
pub fn write(pipeline: &Pipeline, path: &Path) -> Result<()> {
    let mut file = Output::create_model(path)?;
    if file.is_gzipped() {
        pipeline.save_packed(&mut file)?;
    } else {
        pipeline.save(&mut file)?;
    }
    file.finish()
}

/// The folders where models are looked for by name, in this order: `$TREEWRIGHT_MODELS` (several, as in `$PATH`),
/// `models` here, those that came with the program, and the user's own.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(list) = variable("TREEWRIGHT_MODELS") {
        folders.extend(std::env::split_paths(&list).filter(|folder| !folder.as_os_str().is_empty()));
    }
    folders.push(PathBuf::from("models"));
    let program = std::env::current_exe().and_then(std::fs::canonicalize).ok();
    if let Some(beside) = program.as_deref().and_then(Path::parent) {
        folders.push(beside.join("models"));
        if let Some(above) = beside.parent() {
            folders.push(above.join("share/treewright/models"));
            // A program in target/release of a clone.
            if above.file_name().is_some_and(|name| name == "target") {
                folders.extend(above.parent().map(|clone| clone.join("models")));
            }
        }
    }
    let home = |folder: &str| variable("HOME").map(|home| PathBuf::from(home).join(folder));
    let data = variable("XDG_DATA_HOME").map(PathBuf::from).or_else(|| home(".local/share"));
    folders.extend(data.map(|data| data.join("treewright/models")));
    let mut seen = HashSet::new();
    folders.retain(|folder| seen.insert(folder.clone()));
    folders
}

/// The folders, a line for each.
pub fn folder_lines() -> String {
    let line = |folder: PathBuf| {
        let missing = if folder.is_dir() { "" } else { " (not there)" };
        format!("\n  {}{missing}", folder.display())
    };
    folders().into_iter().map(line).collect()
}

/// The models in the folders, by name and path, in the order in which they are found; if two have the same name, only the first.
pub fn listed() -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    for folder in folders() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some(name) = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending)) else { continue };
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name.to_owned(), path));
            }
        }
    }
    found
}

/// The file that a path or name stands for; none for the model in the program.
///
/// # Errors
/// When there is no such file and no such model; says where it was looked for.
pub fn find(model: &Path) -> Result<Option<PathBuf>> {
    // A pipe would do, too; a folder would not.
    if model.exists() && !model.is_dir() {
        return Ok(Some(model.to_owned()));
    }
    let found = folders().into_iter().flat_map(|folder| {
        ENDINGS.map(|ending| {
            let mut file = folder.join(model).into_os_string();
            file.push(ending);
            PathBuf::from(file)
        })
    });
    match found.into_iter().find(|path| path.is_file()) {
        Some(path) => Ok(Some(path)),
        None if model.as_os_str() == EMBEDDED => Ok(None),
        None => Err(unknown(model)),
    }
}

/// Opens a model by path or name; the one in the program if none is given.
pub fn open(model: Option<&Path>) -> Result<Pipeline> {
    match model.map(find).transpose()?.flatten() {
        Some(path) => Pipeline::open(path),
        None => embedded(),
    }
}

fn unknown(model: &Path) -> Error {
    let name = model.to_string_lossy();
    let mut message = "there is no such file, and no model of this name".to_owned();
    if let Some(near) = nearest(&name) {
        message.push_str(&format!("; did you mean {near}?"));
    }
    message.push_str("\n(treewright models lists them). Models are looked for by name in");
    message.push_str(&folder_lines());
    message.push_str("\nand first in the folders that $TREEWRIGHT_MODELS names");
    if std::env::var_os("TREEWRIGHT_MODELS").is_none() {
        message.push_str(", which is not set");
    }
    Error::new(Code::Io, message).in_file(&name)
}

/// The known name that is most like this one, if it is much like it.
fn nearest(name: &str) -> Option<String> {
    let names = listed().into_iter().map(|(name, _)| name).chain([EMBEDDED.to_owned()]);
    let likeness = |known: &String| strsim::jaro_winkler(known, name);
    names.filter(|known| likeness(known) > 0.8).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}
