//! From raw text to trees: a segmenter, taggers and parsers in one model file, each usable on its own.
//!
//! `model/part_table.rs` has the layout of the file.
//!
//! A tagger belongs to the parsers and the lemmatiser after it, up to the next tagger: parsers of one file may want
//! different tags. A file with a lone parser, as training writes it, is a pipeline of one part. Parts are read when they
//! are asked for.

mod language;
mod part;
mod rerank;
mod tagset;
mod worker;

pub use crate::model::PartKind;
pub use language::KnownWords;
pub use part::Part;
pub use tagset::UnknownTags;
pub use worker::{AnalyserWorker, Tagged};

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use crate::config::EncoderFiles;
use crate::error::{Code, Error, Result};
use crate::lemma::Lemmatiser;
use crate::map::{ByteRange, Bytes, GZIP_MAGIC};
use crate::model::packed::{self, PACKED_MAGIC};
use crate::model::part_table::{self, PartEntry};
use crate::model::{self, Model, Parser, Search};
use crate::score::ScorerModel;
use crate::segment::{SegmentOptions, Segmenter};
use crate::tree::{Entry, TreeKind};
use part::{Loaded, OnDemand};

/// Does this file look like a model, gzipped or not? One that cannot be read does not.
pub fn is_model(path: impl AsRef<Path>) -> bool {
    let first_bytes = || -> std::io::Result<[u8; 8]> {
        let mut file = std::fs::File::open(path.as_ref())?;
        let mut first = [0; 8];
        file.read_exact(&mut first)?;
        if first.starts_with(&GZIP_MAGIC) {
            file.rewind()?;
            flate2::read::GzDecoder::new(file).read_exact(&mut first)?;
        }
        Ok(first)
    };
    first_bytes().is_ok_and(|first| [part_table::MAGIC, model::MAGIC, PACKED_MAGIC].contains(&&first))
}

/// A model file with its parts. What was read of it is kept, and clones share it.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// For messages.
    name: String,
    parts: Vec<Part>,
}

impl Pipeline {
    /// Opens a model file (gzipped or not): a pipeline, or a parser alone.
    ///
    /// A file that is not gzipped is mapped into memory, not read. Nobody may cut it short or overwrite it in place
    /// while it is in use: the operating system ends a program that looks at a part of a mapped file that is gone
    /// (SIGBUS). Replacing the file by another of the same name, as `train -o` does, is safe. For files that others may
    /// write to, read them and call [`Pipeline::from_bytes`].
    ///
    /// # Errors
    /// When the file cannot be read or is no model.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let name = path.as_ref().display().to_string();
        let open = || Self::from_range(packed::unpacked(Bytes::open(path.as_ref())?)?, &name);
        open().map_err(|error| error.in_file(&name))
    }

    /// A pipeline that is a part of the program; `name` is for messages.
    ///
    /// # Errors
    /// When this is no model.
    pub fn from_static(bytes: &'static [u8], name: &str) -> Result<Self> {
        Self::from_range(ByteRange::all_of(Bytes::Static(bytes)), name).map_err(|error| error.in_file(name))
    }

    /// Reads a pipeline from the bytes of a file (gzipped or not), which are copied.
    ///
    /// # Errors
    /// When this is no model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_range(packed::unpacked(Bytes::of(bytes)?)?, "")
    }

    fn from_range(file: ByteRange, name: &str) -> Result<Self> {
        let bad = |message: &str| Error::new(Code::BadModel, message);
        let bytes = file.get();
        if bytes.starts_with(model::MAGIC) {
            let parser = Parser::new(Model::from_range(&file)?);
            let parts = vec![Part::new(Loaded::Parser(parser), Some(file))];
            return Ok(Pipeline { name: name.to_owned(), parts });
        }
        if !bytes.starts_with(part_table::MAGIC) {
            return Err(bad("this is not a treewright model"));
        }
        let part = |PartEntry { kind, tagger_weight, range }| {
            Part::unread(kind, ByteRange { bytes: file.bytes.clone(), range }, tagger_weight)
        };
        let parts = part_table::read(bytes)?.into_iter().map(part).collect();
        Ok(Pipeline { name: name.to_owned(), parts })
    }

    /// A pipeline of these parts.
    pub fn of_parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Pipeline { name: String::new(), parts: parts.into_iter().collect() }
    }

    /// All parts of several pipelines, in order. A segmenter is taken from the first that has one; a lemmatiser that
    /// comes without a tagger goes to the first tagger whose tags it was trained on.
    pub fn join<'a>(pipelines: impl IntoIterator<Item = &'a Pipeline>) -> Self {
        let mut joined = Pipeline { name: String::new(), parts: Vec::new() };
        let mut without_tagger = Vec::new();
        for pipeline in pipelines {
            let has_tagger = pipeline.parts.iter().any(|part| part.kind == PartKind::Tagger);
            for part in &pipeline.parts {
                match part.kind {
                    PartKind::Segmenter
                        if joined.parts.iter().any(|part| part.kind == PartKind::Segmenter) => {}
                    PartKind::Lemmatiser if !has_tagger => without_tagger.push(part.clone()),
                    _ => joined.parts.push(part.clone()),
                }
            }
        }
        for part in without_tagger {
            let at = joined.place_for(&part);
            joined.parts.insert(at, part);
        }
        joined
    }

    /// Where a lemmatiser belongs: after the tagger that gives most of the tags it knows (ties go to the first); at the end
    /// if there is none.
    fn place_for(&self, lemmatiser: &Part) -> usize {
        let Ok(Loaded::Lemmatiser(lemmatiser)) = lemmatiser.loaded() else { return self.parts.len() };
        let mut best = (0, self.parts.len());
        for (at, part) in self.parts.iter().enumerate().filter(|(_, part)| part.kind == PartKind::Tagger) {
            // A damaged tagger is reported when it is asked for.
            let Ok(Loaded::Tagger(tagger)) = part.loaded() else { continue };
            let n_known = tagger.tags().filter(|tag| lemmatiser.knows_tag(tag)).count();
            if n_known > best.0 {
                best = (n_known, at + 1);
            }
        }
        best.1
    }

    /// Writes the model file; a parser alone needs no table of parts.
    ///
    /// # Errors
    /// When the output fails.
    pub fn save(&self, out: &mut dyn Write) -> Result<()> {
        if let [Part { kind: PartKind::Parser(_), .. }] = &self.parts[..] {
            return Ok(out.write_all(&self.parts[0].bytes()?)?);
        }
        let bytes = self.parts.iter().map(Part::bytes).collect::<Result<Vec<_>>>()?;
        let parts = self.parts.iter().zip(&bytes);
        let parts: Vec<_> = parts.map(|(part, bytes)| (part.kind, part.tagger_weight, &bytes[..])).collect();
        part_table::write(&parts, out)
    }

    /// Writes the model file in its packed form, which is smaller once it is gzipped, and is read like the other.
    ///
    /// # Errors
    /// When the output fails, or a part is damaged.
    pub fn save_packed(&self, out: &mut dyn Write) -> Result<()> {
        let mut file = Vec::new();
        self.save(&mut file)?;
        let mut scorers: Vec<&dyn ScorerModel> = Vec::new();
        for part in self.parts.iter().filter(|part| matches!(part.kind, PartKind::Parser(_))) {
            if let Loaded::Parser(parser) = part.loaded()? {
                scorers.push(parser.model.scorer());
            }
        }
        Ok(out.write_all(&packed::pack(&file, &scorers)?)?)
    }

    /// The same with 8-bit weights in its parsers, where their scorers have such weights; nothing if none has.
    ///
    /// # Errors
    /// When a part is damaged.
    pub fn quantized(&self) -> Result<Option<Pipeline>> {
        let (mut quantized, mut has_changed) = (self.clone(), false);
        for part in &mut quantized.parts {
            if !matches!(part.kind, PartKind::Parser(_)) {
                continue;
            }
            let model = match part.loaded().map_err(|error| error.in_file(&self.name))? {
                Loaded::Parser(parser) => parser.model.quantized(),
                _ => None,
            };
            if let Some(model) = model {
                *part = Part { tagger_weight: part.tagger_weight, ..model.into() };
                has_changed = true;
            }
        }
        Ok(has_changed.then_some(quantized))
    }

    /// The pre-trained encoder that the first of its parsers with one keeps, perhaps fine-tuned, for other parsers to look at.
    ///
    /// # Errors
    /// When there is none, or a part is damaged.
    pub fn encoder(&self) -> Result<EncoderFiles> {
        for part in self.parts.iter().filter(|part| matches!(part.kind, PartKind::Parser(_))) {
            if let Loaded::Parser(parser) = part.loaded().map_err(|error| error.in_file(&self.name))?
                && let Some(encoder) = parser.model.0.parts().scorer.encoder()
            {
                return Ok(encoder);
            }
        }
        let message = "no parser of this model has a pre-trained encoder";
        Err(Error::new(Code::BadModel, message).in_file(&self.name))
    }

    /// What is in it, with the sizes in bytes.
    pub fn parts(&self) -> impl Iterator<Item = (PartKind, usize)> + '_ {
        self.parts.iter().map(|part| (part.kind, part.bytes().map_or(0, |bytes| bytes.len())))
    }

    /// The segmenter, if there is one.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn segmenter(&self) -> Result<Option<Arc<Segmenter>>> {
        let part = self.parts.iter().find(|part| part.kind == PartKind::Segmenter);
        match part.map(Part::loaded).transpose().map_err(|error| error.in_file(&self.name))? {
            Some(Loaded::Segmenter(segmenter)) => Ok(Some(segmenter.clone())),
            _ => Ok(None),
        }
    }

    /// Segments, tags and parses a text: its sentences with their trees. The first call loads the parts. Each makes a
    /// worker and its memory: for many short texts, keep one of your own ([`Analyser::worker`]).
    ///
    /// # Errors
    /// When the model has no segmenter, or a part is damaged.
    pub fn parse_text(&self, text: &str) -> Result<Vec<Entry>> {
        let Some(segmenter) = self.segmenter()? else {
            let message = "the model has no segmenter, so it cannot take raw text";
            return Err(Error::new(Code::BadModel, message).in_file(&self.name));
        };
        let analyser = self.analyser(None)?;
        let mut worker = analyser.worker(None, Tagging::default());
        let sentences = segmenter.segment(text, &SegmentOptions::default()).sentences;
        let parse = |mut sentence| {
            let tree = worker.analyse(&mut sentence)?;
            Ok(Entry { sentence, tree })
        };
        sentences.into_iter().map(parse).collect()
    }

    /// The tagger and parser for trees of a kind; the first parser if none is named, or the tagger alone where there
    /// is no parser at all. The parser is read now; tagger and lemmatiser are read when a sentence first needs them, or
    /// by [`Analyser::load`].
    ///
    /// # Errors
    /// When there is no parser of that kind, or a part is damaged; what the checksum of a tagger does not show is an error
    /// when it is read.
    pub fn analyser(&self, kind: Option<TreeKind>) -> Result<Analyser> {
        let wanted = |part: &PartKind| match part {
            PartKind::Parser(of) => kind.is_none_or(|kind| kind == *of),
            PartKind::Segmenter | PartKind::Tagger | PartKind::Lemmatiser => false,
        };
        let parser = self.parts.iter().position(|part| wanted(&part.kind));
        if let (None, Some(kind)) = (parser, kind) {
            let message = format!("there is no parser for {kind} in this model");
            return Err(Error::new(Code::BadModel, message).in_file(&self.name));
        }
        let is_tagger = |part: &Part| part.kind == PartKind::Tagger;
        let tagger = self.parts[..parser.unwrap_or(self.parts.len())].iter().rposition(is_tagger);
        // What belongs to the tagger ends where the next one begins.
        let after = &self.parts[tagger.map_or(0, |at| at + 1)..];
        let group = &after[..after.iter().position(is_tagger).unwrap_or(after.len())];
        let lemmatiser = group.iter().find(|part| part.kind == PartKind::Lemmatiser);
        for part in tagger.map(|at| &self.parts[at]).into_iter().chain(lemmatiser) {
            part.check().map_err(|error| error.in_file(&self.name))?;
        }
        let tagger_weight = parser.map_or(0, |at| self.parts[at].tagger_weight);
        let loaded = parser.map(|at| self.parts[at].loaded()).transpose();
        let parser = match loaded.map_err(|error| error.in_file(&self.name))? {
            Some(Loaded::Parser(parser)) => Some(parser.clone()),
            _ => None,
        };
        // Trees of Penn treebanks have their own way of writing brackets and quotes.
        let is_penn = parser.as_ref().is_some_and(|parser| parser.model.vocabulary().knows("-LRB-"));
        let (tagger, lemmatiser) = (tagger.map(|at| self.parts[at].clone()), lemmatiser.cloned());
        Ok(Analyser { name: self.name.clone(), tagger, lemmatiser, parser, tagger_weight, is_penn })
    }

    /// Sets the weight of the tagger's score for the first parser; 0: it does not rerank tags.
    pub(crate) fn set_tagger_weight(&mut self, weight: u32) {
        let mut parsers = self.parts.iter_mut().filter(|part| matches!(part.kind, PartKind::Parser(_)));
        if let Some(part) = parsers.next() {
            part.tagger_weight = weight;
        }
    }
}

/// A tagger, a lemmatiser and a parser that belong together; each may be missing. Immutable and shared between threads.
#[derive(Clone, Debug)]
pub struct Analyser {
    /// The file, for messages.
    name: String,
    tagger: Option<Part>,
    lemmatiser: Option<Part>,
    /// The parser.
    pub parser: Option<Parser>,
    /// The weight of the tagger's score when the parser reranks tags; 0: it does not.
    pub tagger_weight: u32,
    is_penn: bool,
}

/// When the tagger is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tagging {
    /// For sentences without tags, and for those whose tags are not the model's (`tagset.rs`).
    #[default]
    Missing,
    /// For sentences without tags alone: whatever tags there are, the parser believes them.
    Untagged,
    /// Always: tags in the input are replaced.
    Always,
}

impl Analyser {
    /// Is there a tagger?
    pub fn has_tagger(&self) -> bool {
        self.tagger.is_some()
    }

    /// Can it tag words, by a tagger or by a parser that finds tags?
    pub fn can_tag(&self) -> bool {
        self.has_tagger() || self.parser.as_ref().is_some_and(|parser| parser.worker().finds_tags())
    }

    /// Does the parser look at tags, without a tagger to find them?
    pub fn lacks_tagger(&self) -> bool {
        let looks_at_tags = |parser: &Parser| parser.model.0.parts().scorer.looks_at_tags();
        self.tagger.is_none() && self.parser.as_ref().is_none_or(looks_at_tags)
    }

    /// The lemmatiser.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn lemmatiser(&self) -> Result<Option<&Lemmatiser>> {
        match self.lemmatiser.as_ref().map(Part::loaded).transpose() {
            Ok(Some(Loaded::Lemmatiser(lemmatiser))) => Ok(Some(lemmatiser)),
            Ok(_) => Ok(None),
            Err(error) => Err(error.in_file(&self.name)),
        }
    }

    /// Reads tagger and lemmatiser now, so that no sentence has to wait for them.
    ///
    /// # Errors
    /// When one of them is damaged.
    pub fn load(&self) -> Result<()> {
        for part in self.tagger.iter().chain(&self.lemmatiser) {
            part.loaded().map_err(|error| error.in_file(&self.name))?;
        }
        Ok(())
    }

    /// A worker for one thread, with memory of its own. It can be sent to the thread, and it keeps what it needs of the model.
    pub fn worker(&self, search: Option<Search>, tagging: Tagging) -> AnalyserWorker {
        let parser = self.parser.as_ref().map(|parser| {
            let worker = parser.worker();
            match search {
                Some(search) => worker.with_search(search),
                None => worker,
            }
        });
        let tagger = self.tagger.as_ref().map(|part| {
            OnDemand::new(part, &self.name, |loaded| match loaded {
                Loaded::Tagger(tagger) => Some(tagger.worker()),
                _ => None,
            })
        });
        let lemmatiser = self.lemmatiser.as_ref().map(|part| {
            OnDemand::new(part, &self.name, |loaded| match loaded {
                Loaded::Lemmatiser(lemmatiser) => Some(lemmatiser.worker()),
                _ => None,
            })
        });
        AnalyserWorker {
            tagger,
            lemmatiser,
            parser,
            tagging,
            tagger_weight: self.tagger_weight,
            is_penn: self.is_penn,
            vocabulary: self.parser.as_ref().map(|parser| parser.model.vocabulary().clone()),
            unknown_tags: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lemma::LemmatiserWorker;
    use crate::model::Worker;
    use crate::tag::TaggerWorker;

    /// A server or an object of another language can keep workers, and send them to a thread.
    const _: () = {
        const fn is_owned_and_send<T: Send + 'static>() {}
        is_owned_and_send::<AnalyserWorker>();
        is_owned_and_send::<TaggerWorker>();
        is_owned_and_send::<LemmatiserWorker>();
        is_owned_and_send::<Worker>();
    };

    #[test]
    fn the_weight_of_the_tagger_is_kept_in_the_file() {
        let parser = PartKind::Parser(TreeKind::Dependencies);
        let part = |kind| Part::unread(kind, ByteRange::all_of(Bytes::copy(&[1])), 0);
        let mut pipeline = Pipeline::of_parts([PartKind::Tagger, parser, parser].map(part));
        pipeline.set_tagger_weight(20);
        let mut bytes = Vec::new();
        pipeline.save(&mut bytes).expect("memory");
        let read = Pipeline::from_bytes(&bytes).expect("a pipeline");
        let joined = Pipeline::join([&read]);
        for pipeline in [pipeline, read, joined] {
            let weights: Vec<u32> = pipeline.parts.iter().map(|part| part.tagger_weight).collect();
            assert_eq!(weights, [0, 20, 0]);
        }
    }
}
