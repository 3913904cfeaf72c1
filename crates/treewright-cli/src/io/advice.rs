//! Advice for errors in inputs: which flag to try. The library knows no flags.

use std::fs::File;
use std::path::Path;

use treewright::treebank::{self, Format, InputFormat, ReadOptions};
use treewright::{Code, Error};

/// The error with the flag that may help, if there is one.
pub fn advised(mut error: Error, options: &ReadOptions) -> Error {
    let advice = match error.code {
        Code::NotText if error.message.contains("Parquet") => {
            "; `treewright parse --from parquet --text-column NAME` reads such tables".to_owned()
        }
        Code::NotText => "; if it is text all the same, say --from text".to_owned(),
        Code::RootCount if !options.many_roots && error.message.contains("second root") => {
            "; --many-roots allows several".to_owned()
        }
        Code::NulByte | Code::InvalidUtf8 => return with_encoding(error),
        Code::Io | Code::EmptyInput | Code::TooLarge => return error,
        _ => match other_format(&error, options) {
            Some(format) => {
                format!("; by its content this is {format}, whatever its name: say --from {format}")
            }
            None => return error,
        },
    };
    error.message.push_str(&advice);
    error
}

/// The error with the flag for texts in other encodings, unless it names it already.
pub fn with_encoding(mut error: Error) -> Error {
    let advice = match error.code {
        _ if error.message.contains("--encoding") => "",
        Code::NulByte => "; --encoding utf-16le reads such text",
        Code::InvalidUtf8 if error.message.contains("encoding") => "; --encoding latin1 reads such text",
        _ => "",
    };
    error.message.push_str(advice);
    error
}

/// The format that a file shows by its content, if its name made it be read as another and its first sentence is wrong.
fn other_format(error: &Error, options: &ReadOptions) -> Option<Format> {
    let by_name = Format::from_path(&options.file)?;
    if matches!(options.format, InputFormat::Given(_)) || error.location.sentence > 1 {
        return None;
    }
    let path = Path::new(&options.file);
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    let unnamed = ReadOptions { encoding: options.encoding, ..ReadOptions::default() };
    let format = treebank::recognise(file, &unnamed).ok()?.format;
    (format != by_name).then_some(format)
}
