//! `treewright.load` and what it returns.

use std::io::BufReader;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treewright::pipeline::{Analyser, AnalyserWorker, Pipeline, Tagging};
use treewright::segment::{Lines, SegmentOptions, Segmenter};
use treewright::tree::{Entry, TreeKind};
use treewright::treebank::Format;

use crate::error::{exception, wrong};
use crate::interrupt::{Stop, Watch};
use crate::pipe::{Input, Pipe};
use crate::values::Document;

/// Weights are used where they lie, so they must lie on whole words.
#[repr(align(64))]
struct Aligned<T: ?Sized>(T);

static ENGLISH: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/english.model")));

/// Opens a model file; the English one in the package if none is named.
#[pyfunction]
#[pyo3(signature = (path=None, kind=None))]
pub fn load(py: Python<'_>, path: Option<PathBuf>, kind: Option<&str>) -> PyResult<Model> {
    let kind = kind.map(tree_kind).transpose()?;
    let open = || -> treewright::Result<Model> {
        let pipeline = match path {
            Some(path) => Pipeline::open(path)?,
            None => Pipeline::from_static(&ENGLISH.0, "english")?,
        };
        Model::new(pipeline, kind)
    };
    py.detach(open).map_err(exception)
}

/// The kind of tree of that name.
fn tree_kind(name: &str) -> PyResult<TreeKind> {
    let kinds = [TreeKind::Dependencies, TreeKind::Constituents];
    let kind = kinds.into_iter().find(|kind| kind.name() == name);
    kind.ok_or_else(|| wrong(format!("trees are \"dependencies\" or \"constituents\", not {name:?}")))
}

/// What the ends of lines mean, by its name on the command line.
fn lines_named(name: &str) -> PyResult<Lines> {
    match name {
        "free" => Ok(Lines::Free),
        "end-sentences" => Ok(Lines::EndSentences),
        "are-sentences" => Ok(Lines::AreSentences),
        _ => Err(wrong(format!("lines are \"free\", \"end-sentences\" or \"are-sentences\", not {name:?}"))),
    }
}

/// A model, ready to parse. It can be used from several threads at once.
#[pyclass(frozen, module = "treewright")]
pub struct Model {
    pub pipeline: Pipeline,
    pub shared: Arc<Shared>,
}

/// Bytes of a text that is cut at once.
const LONG_TEXT: usize = 1 << 18;

/// What parses for a model.
pub struct Shared {
    analyser: Analyser,
    segmenter: Option<Arc<Segmenter>>,
    /// Workers that are free; each call takes one or makes another.
    free: Mutex<Vec<AnalyserWorker>>,
}

impl Shared {
    pub fn worker(&self) -> AnalyserWorker {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| self.analyser.worker(None, Tagging::Missing))
    }

    pub fn give_back(&self, worker: AnalyserWorker) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }

    /// Parses one input; only its first sentences if `is_over` says so between two of them.
    pub fn parse(
        &self,
        worker: &mut AnalyserWorker,
        input: Input,
        options: &SegmentOptions,
        mut is_over: impl FnMut() -> bool,
    ) -> treewright::Result<Document> {
        let mut entries = Vec::new();
        let mut parse = |mut sentence| -> treewright::Result<()> {
            let tree = worker.analyse(&mut sentence)?;
            entries.push(Entry { sentence, tree });
            Ok(())
        };
        let segmenter = || self.segmenter.as_ref().expect("checked before");
        let text = match input {
            // A long text is cut as it is parsed, so that nobody waits for the whole of it.
            Input::Text(text) if text.len() > LONG_TEXT => {
                // A slice alone would hand over the whole text at once.
                let source = BufReader::with_capacity(LONG_TEXT / 4, text.as_bytes());
                let mut sentences = segmenter().read(source, options).take_while(|_| !is_over());
                sentences.try_for_each(|sentence| parse(sentence?))?;
                Some(text)
            }
            Input::Text(text) => {
                let mut sentences = segmenter().segment(&text, options).sentences.into_iter();
                sentences.by_ref().take_while(|_| !is_over()).try_for_each(parse)?;
                Some(text)
            }
            Input::Tokens(sentence) => {
                parse(sentence)?;
                None
            }
        };
        Ok(Document::new(entries, text))
    }

    /// Parses one input with a worker that is free.
    pub fn parse_one(&self, py: Python<'_>, input: Input, options: &SegmentOptions) -> PyResult<Document> {
        py.detach(|| {
            let stop = Stop::default();
            let mut watch = Watch::new(&stop);
            let mut worker = self.worker();
            let document = self.parse(&mut worker, input, options, || watch.ask());
            self.give_back(worker);
            watch.finish()?;
            document.map_err(exception)
        })
    }

    /// What trees are written as, unless another format is named.
    pub fn default_format(&self) -> Format {
        self.analyser.parser.as_ref().map_or(Format::Conllu, |parser| parser.info().system.info().format())
    }

    /// Refuses texts if there is no segmenter.
    pub fn check_text(&self) -> PyResult<()> {
        match self.segmenter {
            Some(_) => Ok(()),
            None => Err(wrong("the model has no segmenter, so it cannot take raw text: use parse_tokens")),
        }
    }
}

impl Model {
    pub fn new(pipeline: Pipeline, kind: Option<TreeKind>) -> treewright::Result<Self> {
        let (analyser, segmenter) = (pipeline.analyser(kind)?, pipeline.segmenter()?);
        let shared = Arc::new(Shared { analyser, segmenter, free: Mutex::default() });
        Ok(Model { pipeline, shared })
    }
}

#[pymethods]
impl Model {
    /// Segments, tags and parses a text.
    #[pyo3(signature = (text, lines="free"))]
    fn __call__(&self, py: Python<'_>, text: String, lines: &str) -> PyResult<Document> {
        self.shared.check_text()?;
        let options = SegmentOptions { lines: lines_named(lines)?, ..SegmentOptions::default() };
        self.shared.parse_one(py, Input::Text(text), &options)
    }

    /// Tags and parses the words of one sentence; with tags, they are kept.
    #[pyo3(signature = (words, tags=None))]
    fn parse_tokens(
        &self,
        py: Python<'_>,
        words: Vec<String>,
        tags: Option<Vec<String>>,
    ) -> PyResult<Document> {
        let input = Input::of_words(words, tags)?;
        self.shared.parse_one(py, input, &SegmentOptions::default())
    }

    /// Parses texts, or lists of words, from an iterable one after the other.
    #[pyo3(signature = (texts, batch_size=64, jobs=None, lines="free"))]
    fn pipe(
        &self,
        texts: &Bound<'_, PyAny>,
        batch_size: usize,
        jobs: Option<usize>,
        lines: &str,
    ) -> PyResult<Pipe> {
        let options = SegmentOptions { lines: lines_named(lines)?, ..SegmentOptions::default() };
        Pipe::new(self.shared.clone(), texts, batch_size, jobs, options)
    }

    /// See `treewright.parse_arrow`.
    #[pyo3(signature = (batch, text_column="text", output="parse", format=None, jobs=None))]
    fn parse_arrow<'py>(
        &self,
        py: Python<'py>,
        batch: pyo3_arrow::PyRecordBatch,
        text_column: &str,
        output: &str,
        format: Option<&str>,
        jobs: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        crate::arrow::parse(
            py,
            &self.shared,
            batch,
            crate::arrow::Columns { text_column, output, format },
            jobs,
        )
    }

    /// Writes the model file; packed and compressed if the name ends in `.gz`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        crate::tools::save(py, &self.pipeline, &path)
    }

    /// What trees it builds, `dependencies` or `constituents`; None without a parser.
    #[getter]
    fn kind(&self) -> Option<&'static str> {
        self.shared.analyser.parser.as_ref().map(|parser| parser.kind().name())
    }

    /// Its parts: segmenter, tagger, lemmatiser, parsers, with their sizes in bytes.
    #[getter]
    fn parts(&self) -> Vec<(String, usize)> {
        self.pipeline.parts().map(|(kind, bytes)| (kind.to_string(), bytes)).collect()
    }

    fn __repr__(&self) -> String {
        format!("<treewright.Model for {}>", self.kind().unwrap_or("tags"))
    }

    /// Models are not copied to other processes: load them there.
    fn __reduce__<'py>(&self, _py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let message = "a model cannot be pickled: call treewright.load in the process that needs it";
        Err(pyo3::exceptions::PyTypeError::new_err(message))
    }
}
