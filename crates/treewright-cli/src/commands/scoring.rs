//! What `eval` and `compare` share: reading gold and predictions, putting sentences side by side, telling what does
//! not fit, and remarks on how the scores came about.

mod messages;
mod place;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use treewright::eval::alignment::{self, Place, Unit};
use treewright::eval::pairing::{self, Pairing, Side};
use treewright::eval::{Functions, Params, Parsed, may_be_discontinuous};
use treewright::tree::TreeKind;
use treewright::treebank::{self, Entry, Format, InputFormat, Limit, ReadOptions};
use treewright::{Code, ConstituentTree, DependencyTree, Error, Result, Tree};

pub use messages::{
    aligned_note, by_gold_tags_note, collapsed, collapsed_note, differ_in_words, fits, give_up, incomparable,
    mismatch, tags_note, text_of,
};

use crate::io::{Inputs, OnError, is_dash, open_raw, shown_name, usage};
use crate::values;

const FUNCTIONS: &[(&str, Functions)] = &[("strip", Functions::Strip), ("keep", Functions::Keep)];

/// Flags of the commands that score.
#[derive(Args, Clone, Debug)]
pub struct ScoringArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,

    /// Write here instead of stdout
    #[arg(long, short)]
    pub output: Option<PathBuf>,

    /// Which brackets and labels count: collins, evalb, spmrl, proper, or a .prm file [default: collins; proper for
    /// formats that can hold discontinuous trees]
    #[arg(long, value_name = "NAME|FILE")]
    pub params: Option<PathBuf>,

    /// Compare labels with function tags such as NP-SBJ or IP-MAT up to their first - or =, as the reference tools do
    /// (strip), or whole (keep) [default: strip]
    #[arg(long, value_name = "HOW", value_parser = values::choice(FUNCTIONS))]
    pub functions: Option<Functions>,

    /// Count discontinuous constituents only
    #[arg(long)]
    pub disc_only: bool,

    /// Format of the files [default: by extension, then by content]
    #[arg(long, value_name = "FORMAT", value_parser = values::format())]
    pub from: Option<Format>,

    /// What to do about sentences that cannot be compared: fail, or leave them out and report them
    #[arg(long, value_enum, default_value_t = OnError::Fail)]
    pub on_error: OnError,

    /// Largest sentence (or line) to read, in bytes: 1000000, 64M, 2G; a word counts as at least 64 bytes [default: 64M]
    #[arg(long, value_name = "SIZE", value_parser = crate::io::limit)]
    pub max_sentence_bytes: Option<Limit>,

    /// Print only errors on stderr, no remarks
    #[arg(long, short)]
    pub quiet: bool,
}

/// A file that was read.
pub struct Treebank {
    /// Its name, for messages.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Its sentences. One that could not be read is empty.
    pub entries: Vec<Entry>,
    /// Which sentences (from 0) could not be read, and why.
    pub unreadable: Vec<(usize, Error)>,
    /// The file itself, and how it was read.
    bytes: Vec<u8>,
    options: ReadOptions,
}

impl Treebank {
    /// Why this entry of the file could not be read, if so.
    pub fn unreadable(&self, entry: &Entry) -> Option<&Error> {
        let mut bad = self.unreadable.iter().filter(|_| entry.tree.is_none());
        bad.find(|(i, _)| std::ptr::eq(&self.entries[*i], entry)).map(|(_, error)| error)
    }

    /// The line and column of a word.
    fn line_of(&self, place: Place) -> (usize, usize) {
        let words = self.entries[place.sentence].sentence.surface().take(place.word + 1);
        let words: Vec<&str> = words.map(|(form, ..)| form).collect();
        place::of_word(&self.bytes, &self.options, place.sentence, &words)
    }

    /// Dependencies or constituents, from the first sentence that has a tree.
    pub fn kind(&self) -> Option<TreeKind> {
        self.entries.iter().find_map(|entry| entry.tree.as_ref()).map(Tree::kind)
    }

    /// May its trees be discontinuous?
    pub fn may_be_discontinuous(&self) -> bool {
        may_be_discontinuous(Some(self.format), &self.entries)
    }
}

impl ScoringArgs {
    /// The files that are read.
    pub fn inputs<'a>(&'a self, gold: &'a PathBuf, predicted: &'a [PathBuf]) -> Inputs<'a> {
        let inputs = Inputs::default().with("the gold file", [gold]).with("a file to score", predicted);
        inputs.with("the parameter file", &self.params)
    }

    /// Reads gold and predictions.
    pub fn read(&self, gold: &Path, predicted: &[PathBuf]) -> Result<(Treebank, Vec<Treebank>)> {
        if predicted.iter().map(PathBuf::as_path).chain([gold]).filter(|path| is_dash(path)).count() > 1 {
            return Err(usage("only one of the files can be stdin"));
        }
        let gold = self.read_one(gold, None)?;
        let Some(kind) = gold.kind() else {
            let message =
                format!("there are no trees in this {} file; expected gold trees", gold.format.as_str());
            return Err(Error::new(Code::WrongTreeKind, message).in_file(&gold.name));
        };
        let mut others = Vec::new();
        for path in predicted {
            let file = self.read_one(path, Some(gold.format))?;
            if file.kind().is_some_and(|other| other != kind)
                || (file.kind().is_none() && kind == TreeKind::Dependencies)
            {
                let holds = file.kind().map_or("no trees", TreeKind::name);
                let message = format!(
                    "this {} file holds {holds}, but the gold file {} ({}) holds {}",
                    file.format.as_str(),
                    gold.name,
                    gold.format.as_str(),
                    kind.name()
                );
                return Err(Error::new(Code::WrongTreeKind, message).in_file(&file.name));
            }
            others.push(file);
        }
        Ok((gold, others))
    }

    /// Refuses flags that say nothing about this kind of trees.
    pub fn check(&self, kind: TreeKind) -> Result<()> {
        let flags = [
            ("--disc-only", self.disc_only),
            ("--params", self.params.is_some()),
            ("--functions", self.functions.is_some()),
        ];
        match flags.iter().find(|(_, is_given)| *is_given && kind == TreeKind::Dependencies) {
            Some((flag, _)) => Err(usage(format!("{flag} is about constituents; these are dependencies"))),
            None => Ok(()),
        }
    }

    fn read_one(&self, path: &Path, gold_format: Option<Format>) -> Result<Treebank> {
        let name = shown_name(path).into_owned();
        let mut bytes = Vec::new();
        open_raw(path)?.read_to_end(&mut bytes).map_err(|error| Error::from(error).in_file(&name))?;
        // A prediction that starts with failed parses does not show its format, so the gold file's is tried first.
        let is_named = self.from.is_some() || Format::from_path(&name).is_some();
        if let (false, Some(format)) = (is_named, gold_format)
            && let Ok(mut file) = self.parse(&bytes, &name, InputFormat::Given(format), OnError::Fail)
        {
            file.bytes = bytes;
            return Ok(file);
        }
        // To EVALB a tree that cannot be read is one more sentence in error.
        let on_error = if gold_format == Some(Format::Ptb) { OnError::Skip } else { self.on_error };
        let recognised = gold_format.map_or(InputFormat::Recognised, InputFormat::RecognisedOr);
        let format = self.from.map_or(recognised, InputFormat::Given);
        let mut file = self.parse(&bytes, &name, format, on_error)?;
        file.bytes = bytes;
        Ok(file)
    }

    fn parse(&self, bytes: &[u8], name: &str, format: InputFormat, on_error: OnError) -> Result<Treebank> {
        let options = ReadOptions {
            file: name.to_owned(),
            format,
            many_roots: true,
            no_parse: true,
            literal_tags: true,
            limit: self.max_sentence_bytes.unwrap_or_default(),
            ..ReadOptions::default()
        };
        let opened = treebank::open(bytes, &options)?;
        let format = InputFormat::Given(opened.format);
        let mut file = Treebank {
            name: name.to_owned(),
            format: opened.format,
            entries: Vec::new(),
            unreadable: Vec::new(),
            bytes: Vec::new(),
            options: ReadOptions { format, ..options.clone() },
        };
        for item in opened.reader {
            match item {
                Ok(entry) => file.entries.push(entry),
                Err(error) if on_error.is_fatal(&error) => return Err(error),
                Err(error) => {
                    file.unreadable.push((file.entries.len(), error));
                    file.entries.push(Entry::default());
                }
            }
        }
        Ok(file)
    }

    /// The parameters, given or fitting the gold file.
    pub fn params(&self, discontinuous: bool) -> Result<Params> {
        let mut params = match &self.params {
            None => Params::fitting(discontinuous),
            Some(path) => named_or_read(path)?,
        };
        params.disc_only |= self.disc_only;
        params.functions = self.functions.unwrap_or(params.functions);
        Ok(params)
    }

    /// The exit code: 1 if something that does not fit was left out, 3 if that was asked for.
    pub fn exit_code(&self, n_left_out: usize) -> ExitCode {
        match self.on_error {
            _ if n_left_out == 0 => ExitCode::SUCCESS,
            OnError::Fail => ExitCode::FAILURE,
            OnError::Skip => ExitCode::from(3),
        }
    }
}

/// Parameters that come with the program, or those of a file.
fn named_or_read(path: &Path) -> Result<Params> {
    let name = &*path.to_string_lossy();
    if let Some(params) = Params::named(name) {
        return Ok(params);
    }
    let text = std::fs::read(path).map_err(|error| {
        let known: Vec<&str> = Params::names().collect();
        let message = format!("{error}; expected a .prm file or one of {}", known.join(", "));
        Error::new(Code::Io, message).in_file(name)
    })?;
    let bad = |_| Error::new(Code::InvalidUtf8, "the parameter file is not UTF-8").in_file(name);
    Params::parse(&String::from_utf8(text).map_err(bad)?).map_err(|error| error.in_file(name))
}

/// The units of sentences of a gold file and predictions, if these have the same characters.
pub fn units(gold: &Treebank, predicted: &[&Treebank]) -> Result<Vec<Unit>, Error> {
    let files: Vec<&Treebank> = std::iter::once(gold).chain(predicted.iter().copied()).collect();
    let entries: Vec<Vec<&Entry>> = files.iter().map(|file| file.entries.iter().collect()).collect();
    let entries: Vec<&[&Entry]> = entries.iter().map(Vec::as_slice).collect();
    alignment::units(&entries).map_err(|difference| {
        let other = files[difference.file];
        let word = |file: &Treebank, place: Option<Place>| {
            place.map_or("the end of the file".to_owned(), |place| {
                let sentence = &file.entries[place.sentence].sentence;
                let form = sentence.surface().nth(place.word).map_or("", |(form, ..)| form);
                format!("{form:?} (word {} of sentence {})", place.word + 1, place.sentence + 1)
            })
        };
        let (g, p) = (word(gold, difference.first), word(other, difference.other));
        let message = format!("the texts differ: first, the gold file has {g} where this file has {p}");
        let mut error = Error::new(Code::Mismatch, message).in_file(&other.name);
        (error.location.line, error.location.column) =
            difference.other.map_or((0, 0), |place| other.line_of(place));
        error
    })
}

/// The constituent tree of an entry.
pub fn tree_of(entry: &Entry) -> Option<&ConstituentTree> {
    match &entry.tree {
        Some(Tree::Constituent(tree)) => Some(tree),
        _ => None,
    }
}

/// The dependency tree of an entry.
pub fn dependencies_of(entry: &Entry) -> Option<&DependencyTree> {
    match &entry.tree {
        Some(Tree::Dependency(tree)) => Some(tree),
        _ => None,
    }
}

/// An entry as the constituent scorers want it.
pub fn parsed(entry: &Entry) -> Parsed<'_> {
    Parsed { sentence: &entry.sentence, tree: tree_of(entry) }
}

/// Puts sentences side by side; says what has no partner.
pub fn side_by_side<'a>(gold: &'a Treebank, predicted: &'a Treebank) -> (Pairing<'a>, Option<Error>) {
    let pairing = pairing::pair(&gold.entries, &predicted.entries);
    let error = pairing.left_over.map(|(side, entry)| {
        let (of, sentence) = match side {
            Side::Gold => (&gold.name, &entry.sentence),
            Side::Predicted => (&predicted.name, &entry.sentence),
        };
        let message = format!(
            "there are {} gold and {} predicted sentences; the first without a partner is sentence {} of {of}: {}",
            pairing.n_gold,
            pairing.n_predicted,
            pairing.pairs.len() + 1,
            text_of(sentence)
        );
        Error::new(Code::Mismatch, message).in_file(&predicted.name)
    });
    (pairing, error)
}
