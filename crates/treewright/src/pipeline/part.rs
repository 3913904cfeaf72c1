//! The parts of a pipeline: read when they are asked for, once, and shared from then on.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::{Code, Error, Result};
use crate::lemma::Lemmatiser;
use crate::map::ByteRange;
use crate::model::{Model, Parser, PartKind};
use crate::segment::Segmenter;
use crate::tag::Tagger;
use crate::tag::bytes::checked_content;

/// A part of a model: bytes of a file that are read when the part is asked for, or what was just trained. Clones share
/// what was read.
#[derive(Clone, Debug)]
pub struct Part {
    pub(super) kind: PartKind,
    /// Those of the file, if it comes from one.
    pub(super) bytes: Option<ByteRange>,
    pub(super) loaded: Arc<OnceLock<Loaded>>,
    /// Held while the part is read, so that threads that need it at once read it once.
    pub(super) reading: Arc<Mutex<()>>,
    /// The weight of the tagger's score in tag reranking (`rerank.rs`); 0: tags are not reranked.
    pub(super) tagger_weight: u32,
}

/// What a part holds, ready for use. Cloning one shares its tables.
#[derive(Clone, Debug)]
pub(super) enum Loaded {
    Segmenter(Arc<Segmenter>),
    Tagger(Tagger),
    Parser(Parser),
    Lemmatiser(Lemmatiser),
}

impl Loaded {
    fn kind(&self) -> PartKind {
        match self {
            Loaded::Segmenter(_) => PartKind::Segmenter,
            Loaded::Tagger(_) => PartKind::Tagger,
            Loaded::Parser(parser) => PartKind::Parser(parser.kind()),
            Loaded::Lemmatiser(_) => PartKind::Lemmatiser,
        }
    }
}

impl From<Segmenter> for Part {
    fn from(segmenter: Segmenter) -> Self {
        Part::new(Loaded::Segmenter(segmenter.into()), None)
    }
}

impl From<Tagger> for Part {
    fn from(tagger: Tagger) -> Self {
        Part::new(Loaded::Tagger(tagger), None)
    }
}

impl From<Lemmatiser> for Part {
    fn from(lemmatiser: Lemmatiser) -> Self {
        Part::new(Loaded::Lemmatiser(lemmatiser), None)
    }
}

impl From<Model> for Part {
    fn from(model: Model) -> Self {
        Part::new(Loaded::Parser(Parser::new(model)), None)
    }
}

impl Part {
    pub(super) fn new(loaded: Loaded, bytes: Option<ByteRange>) -> Self {
        let (kind, loaded) = (loaded.kind(), Arc::new(loaded.into()));
        Part { kind, bytes, loaded, reading: Arc::default(), tagger_weight: 0 }
    }

    /// A part of a file, which is read later.
    pub(super) fn unread(kind: PartKind, bytes: ByteRange, tagger_weight: u32) -> Self {
        Part { kind, bytes: Some(bytes), loaded: Arc::default(), reading: Arc::default(), tagger_weight }
    }

    /// What it holds; read from its bytes the first time.
    pub(super) fn loaded(&self) -> Result<&Loaded> {
        if self.loaded.get().is_none() {
            self.read()?;
        }
        Ok(self.loaded.get().expect("a part without bytes was trained"))
    }

    /// Reads its bytes, unless another thread is faster.
    fn read(&self) -> Result<()> {
        let _reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(bytes)) = (self.loaded.get(), &self.bytes) {
            let loaded = match self.kind {
                PartKind::Segmenter => Loaded::Segmenter(Segmenter::from_bytes(bytes.get())?.into()),
                PartKind::Tagger => Loaded::Tagger(Tagger::from_bytes(bytes.get())?),
                PartKind::Parser(_) => Loaded::Parser(Parser::new(Model::from_range(bytes)?)),
                PartKind::Lemmatiser => Loaded::Lemmatiser(Lemmatiser::from_bytes(bytes.get())?),
            };
            if let Loaded::Parser(parser) = &loaded
                && loaded.kind() != self.kind
            {
                let (table, kind) = (self.kind, parser.kind());
                let message = format!("the table calls a part {table}, but it is for {kind}");
                return Err(Error::new(Code::BadModel, message));
            }
            self.loaded.set(loaded).expect("only the thread that holds the lock reads");
        }
        Ok(())
    }

    /// Compares a tagger or lemmatiser that is yet to be read with its checksum, which takes a thousandth of the time.
    pub(super) fn check(&self) -> Result<()> {
        match (self.loaded.get(), &self.bytes) {
            (None, Some(bytes)) => checked_content(bytes.get()).map(drop).map_err(|error| Error {
                message: format!("the {} is damaged: {}", self.kind, error.message),
                ..error
            }),
            _ => Ok(()),
        }
    }

    /// Its bytes for a file.
    pub(super) fn bytes(&self) -> Result<Cow<'_, [u8]>> {
        if let Some(bytes) = &self.bytes {
            return Ok(Cow::Borrowed(bytes.get()));
        }
        Ok(Cow::Owned(match self.loaded()? {
            Loaded::Segmenter(segmenter) => segmenter.to_bytes(),
            Loaded::Tagger(tagger) => tagger.to_bytes(),
            Loaded::Lemmatiser(lemmatiser) => lemmatiser.to_bytes(),
            Loaded::Parser(parser) => {
                let mut bytes = Vec::new();
                parser.model.save(&mut bytes)?;
                bytes
            }
        }))
    }
}

/// The worker of a part, made when it is first needed: to read a tagger takes as long as to parse hundreds of sentences,
/// and a treebank with tags needs none.
pub(super) struct OnDemand<W> {
    part: Part,
    /// The file, for messages.
    name: String,
    make: fn(&Loaded) -> Option<W>,
    worker: Option<W>,
}

impl<W> OnDemand<W> {
    pub(super) fn new(part: &Part, name: &str, make: fn(&Loaded) -> Option<W>) -> Self {
        OnDemand { part: part.clone(), name: name.to_owned(), make, worker: None }
    }

    /// The worker.
    ///
    /// # Errors
    /// When the part is damaged.
    pub(super) fn get(&mut self) -> Result<&mut W> {
        if self.worker.is_none() {
            let loaded = self.part.loaded().map_err(|error| error.in_file(&self.name))?;
            self.worker = (self.make)(loaded);
        }
        Ok(self.worker.as_mut().expect("a part holds what its kind says"))
    }
}
