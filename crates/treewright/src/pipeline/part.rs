//! The parts of a pipeline: read when they are asked for, once, and shared from then on.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::error::{Code, Error, Result};
use crate::lemma::Lemmatiser;
use crate::map::ByteRange;
use crate::model::{Model, Parser, PartKind};
use crate::segment::Segmenter;
use crate::tag::Tagger;

/// A part of a model: bytes of a file that are read when the part is asked for, or what was just trained.
#[derive(Clone, Debug)]
pub struct Part {
    pub(super) kind: PartKind,
    /// Those of the file, if it comes from one.
    pub(super) bytes: Option<ByteRange>,
    pub(super) loaded: OnceLock<Loaded>,
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
        Part { kind: loaded.kind(), bytes, loaded: loaded.into(), tagger_weight: 0 }
    }

    /// What it holds; read from its bytes the first time.
    pub(super) fn loaded(&self) -> Result<&Loaded> {
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
            // If another thread was faster, what it read is kept.
            let _ = self.loaded.set(loaded);
        }
        Ok(self.loaded.get().expect("a part without bytes was trained"))
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
