//! What the ending of a file's name promises besides the treebank formats, so that nothing else is written there.

use std::path::Path;

use treewright::treebank::Format;

/// The ending of a name, before `.gz` and in small letters; empty if there is none.
pub fn ending(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(String::new(), |(_, ending)| ending.to_owned())
}

/// What a file of this name would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// A treebank.
    Treebank(Format),
    /// A picture, or a page or document with pictures.
    Picture,
    /// A table of text between commas.
    Csv,
    /// A table of text between tabs.
    Tsv,
    /// A table in Parquet.
    Parquet,
    /// XML of some kind.
    Xml,
}

impl Promise {
    /// That of a name; `None` if the name says nothing.
    pub fn of(path: &Path) -> Option<Self> {
        Some(match &ending(path)[..] {
            "svg" | "png" | "pdf" | "html" | "tex" => Promise::Picture,
            "csv" => Promise::Csv,
            "tsv" => Promise::Tsv,
            "parquet" => Promise::Parquet,
            "xml" => Promise::Xml,
            _ => Promise::Treebank(Format::from_path(&path.to_string_lossy())?),
        })
    }

    /// With an article.
    pub fn name(self) -> String {
        match self {
            Promise::Treebank(format) => format!("a file in {format}"),
            Promise::Picture => "a picture".to_owned(),
            Promise::Csv => "a table in CSV".to_owned(),
            Promise::Tsv => "a table in TSV".to_owned(),
            Promise::Parquet => "a table in Parquet".to_owned(),
            Promise::Xml => "XML".to_owned(),
        }
    }

    /// Why a treebank in this format is not written to a file of this name, if the format was not asked for.
    pub fn refuses(self, format: Format, path: &Path) -> Option<String> {
        let path = path.to_string_lossy();
        match self {
            Promise::Treebank(_) => None,
            Promise::Xml if format == Format::Tigerxml => None,
            // These have columns between tabs.
            Promise::Tsv if matches!(format, Format::Conllu | Format::Conllx) => None,
            Promise::Picture => Some(format!(
                "trees are written as text, and {path:?} would be a picture: write a treebank, then draw that with \
                 `treewright draw TREEBANK -o {path}`"
            )),
            Promise::Xml => Some(format!(
                "by its name, {path:?} is XML, and the trees would be written as {format}: name a format with --to \
                 (tigerxml is XML for constituents), or another file"
            )),
            Promise::Csv | Promise::Tsv | Promise::Parquet => Some(format!(
                "by its name, {path:?} is {}, and the trees would be written as {format}: name another file, or say \
                 --to {format}",
                self.name()
            )),
        }
    }
}
