//! One error type: where, what was expected, and a code that stays the same across versions.

use std::fmt;

/// An enumeration whose values have names that users see.
macro_rules! named {
    ($(#[$about:meta])* pub enum $type:ident { $($(#[$doc:meta])* $name:ident = $text:literal;)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type { $($(#[$doc])* $name,)* }

        impl $type {
            /// All of them, in order.
            pub const ALL: &[$type] = &[$($type::$name,)*];

            /// The name as users see it.
            pub fn as_str(self) -> &'static str {
                match self { $($type::$name => $text,)* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use named;

named! {
    /// What went wrong, as a stable code such as `TW101` (`docs/formats.md` lists them).
    #[non_exhaustive]
    pub enum Code {
        /// The operating system reported an error while reading or writing.
        Io = "TW001";
        /// The file ends inside a compressed block, or is damaged.
        BadGzip = "TW002";
        /// Bytes that are not UTF-8.
        InvalidUtf8 = "TW003";
        /// A NUL byte, which no format allows.
        NulByte = "TW004";
        /// Nothing in the file.
        EmptyInput = "TW005";
        /// The format could not be recognised.
        UnknownFormat = "TW006";
        /// The format cannot hold this kind of tree, or holds no tree.
        WrongTreeKind = "TW007";
        /// A value that the format cannot hold, such as a tab inside a column.
        Unwritable = "TW008";
        /// Flags that do not go together, or a value that a flag does not take.
        Usage = "TW009";
        /// A sentence or line larger than the limit for one.
        TooLarge = "TW010";
        /// A file of another kind, such as PDF or HTML, where text was expected.
        NotText = "TW011";
        /// A line with the wrong number of columns.
        ColumnCount = "TW101";
        /// A word, range or node number that is not what should follow.
        BadId = "TW102";
        /// A number that occurs twice.
        DuplicateId = "TW103";
        /// A head that is not a number, or not a word of the sentence.
        BadHead = "TW104";
        /// A head that is missing while other words have one.
        MissingHead = "TW105";
        /// Words that are their own ancestors.
        Cycle = "TW106";
        /// No root, or more than one where one is required.
        RootCount = "TW107";
        /// A column that may not be empty.
        EmptyColumn = "TW108";
        /// A comment in the middle of a sentence, or any other line in the wrong place.
        MisplacedLine = "TW109";
        /// Brackets that do not match.
        Unbalanced = "TW201";
        /// Text where a bracket should stand.
        ExpectedBracket = "TW202";
        /// A constituent or leaf without a label, or a leaf without a word.
        MissingLabel = "TW203";
        /// A leaf whose `index=` is missing or not a number.
        BadIndex = "TW204";
        /// A word that is missing from the tree.
        MissingWord = "TW205";
        /// A word or constituent under two parents.
        TwoParents = "TW206";
        /// A constituent that dominates no word.
        EmptyConstituent = "TW207";
        /// A parent that does not exist.
        BadParent = "TW208";
        /// A sentence that does not end.
        Truncated = "TW209";
        /// XML that is not well formed, or lacks an element or attribute.
        BadXml = "TW301";
        /// JSON that is not valid, or lacks a field.
        BadJson = "TW302";
        /// A Parquet file that is damaged, or lacks a column with texts.
        BadParquet = "TW303";
        /// CSV with a quotation mark that is not closed, or with text after the closing one.
        BadCsv = "TW304";
        /// A transform that cannot be applied to this tree.
        Untransformable = "TW401";
        /// Head rules, templates or parameters that cannot be read.
        BadRules = "TW402";
        /// A tree that the transition system cannot derive.
        Underivable = "TW501";
        /// Two files that should describe the same sentences do not.
        Mismatch = "TW601";
        /// A drawing that would be larger than anyone could look at.
        TooLargeToDraw = "TW701";
        /// Text that no installed font can show in a picture.
        NoFont = "TW702";
        /// A model file that is damaged, cut short, of another version, or no model at all.
        BadModel = "TW801";
        /// Training settings that make no sense together, or training data without a usable tree.
        BadTraining = "TW802";
    }
}

/// Where in the input. Lines, columns and sentences count from 1; 0 means unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The file's name, as the user gave it; may be empty.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
    /// The sentence.
    pub sentence: usize,
}

/// An error a person can act on. `{:?}` prints it as `{}` does, so that it reads well where `main` returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// Where it was noticed.
    pub location: Location,
    /// What was found and what was expected, as a sentence without a full stop.
    pub message: String,
    /// What kind of error the operating system reported, if it was one of its errors.
    pub io_kind: Option<std::io::ErrorKind>,
}

/// The result of most fallible operations here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that no line of the input is to blame for.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::at(code, 0, 0, message)
    }

    /// An error at a line and column; readers add the sentence, the door adds the file.
    pub fn at(code: Code, line: usize, column: usize, message: impl Into<String>) -> Self {
        let location = Location { line, column, ..Location::default() };
        Error { code, location, message: message.into(), io_kind: None }
    }

    /// The same error in a named file.
    pub fn in_file(mut self, file: &str) -> Self {
        file.clone_into(&mut self.location.file);
        self
    }

    /// The same error in a numbered sentence.
    pub fn in_sentence(mut self, sentence: usize) -> Self {
        self.location.sentence = sentence;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { file, line, column, sentence } = &self.location;
        if !file.is_empty() {
            write!(f, "{file}:")?;
        }
        if *line > 0 {
            write!(f, "{line}:")?;
        }
        if *line > 0 && *column > 0 {
            write!(f, "{column}:")?;
        }
        if !file.is_empty() || *line > 0 {
            write!(f, " ")?;
        }
        if *sentence > 0 {
            write!(f, "sentence {sentence}: ")?;
        }
        write!(f, "{} [{}]", self.message, self.code.as_str())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}

impl From<&std::io::Error> for Error {
    /// A library error that travelled through a `Read` comes out as it was.
    fn from(error: &std::io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(inner) => inner.clone(),
            None => Error { io_kind: Some(error.kind()), ..Error::new(Code::Io, error.to_string()) },
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `main` prints errors with `{:?}`.
    #[test]
    fn errors_read_well_however_they_are_printed() {
        let error = Error::at(Code::BadId, 13, 2, "the ID is \"x\"; expected word 3").in_file("a.conllu");
        let text = "a.conllu:13:2: the ID is \"x\"; expected word 3 [TW102]";
        assert_eq!((error.to_string(), format!("{error:?}")), (text.to_owned(), text.to_owned()));
    }

    #[test]
    fn an_unknown_column_is_not_printed() {
        let error = Error::at(Code::BadRules, 13, 0, "a rule without a label");
        assert_eq!(error.to_string(), "13: a rule without a label [TW402]");
        assert_eq!(error.in_file("rules").to_string(), "rules:13: a rule without a label [TW402]");
    }
}
