//! `nlp.pipe`: texts in, documents out, in order, by threads of its own that do not hold the interpreter's lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyString};
use treewright::segment::SegmentOptions;
use treewright::{Sentence, Token};

use crate::error::{exception, wrong};
use crate::interrupt::PATIENCE;
use crate::model::Shared;
use crate::values::Document;

/// What is parsed: a text, or a sentence that is cut into words.
pub enum Input {
    Text(String),
    Tokens(Sentence),
}

impl Input {
    pub fn of_words(words: Vec<String>, tags: Option<Vec<String>>) -> PyResult<Self> {
        let tags = tags.unwrap_or_else(|| vec![String::new(); words.len()]);
        if tags.len() != words.len() {
            return Err(wrong(format!("there are {} words but {} tags", words.len(), tags.len())));
        }
        if words.iter().any(|word| word.trim().is_empty()) {
            return Err(wrong("a word is empty"));
        }
        let tokens = words.into_iter().zip(tags).map(|(word, tag)| Token::new(word, tag)).collect();
        Ok(Input::Tokens(Sentence { tokens, ..Sentence::default() }))
    }

    fn of(item: &Bound<'_, PyAny>, shared: &Shared) -> PyResult<Self> {
        if let Ok(text) = item.cast::<PyString>() {
            shared.check_text()?;
            return Ok(Input::Text(text.to_cow()?.into_owned()));
        }
        let words = item.extract::<Vec<String>>();
        let words = words.map_err(|_| PyTypeError::new_err("expected texts, or lists of words"))?;
        Input::of_words(words, None)
    }
}

/// How many threads there are by default.
pub fn default_jobs() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Batches in flight per thread, so that none waits while Python looks at the last documents.
const IN_FLIGHT: usize = 2;

type Parsed = treewright::Result<Vec<Document>>;

/// An iterator of documents.
#[pyclass(module = "treewright")]
pub struct Pipe {
    shared: Arc<Shared>,
    /// None once all was read.
    source: Option<Py<PyIterator>>,
    /// An error of the source or of an item, raised after the documents before it.
    failed: Option<PyErr>,
    work: Option<Sender<(u64, Vec<Input>)>>,
    results: Mutex<Receiver<(u64, Parsed)>>,
    early: BTreeMap<u64, Parsed>,
    ready: VecDeque<Document>,
    n_given: u64,
    n_taken: u64,
    batch_size: usize,
    max_in_flight: u64,
    /// Threads do not follow into a forked process.
    process: u32,
}

impl Pipe {
    pub fn new(
        shared: Arc<Shared>,
        texts: &Bound<'_, PyAny>,
        batch_size: usize,
        jobs: Option<usize>,
        options: SegmentOptions,
    ) -> PyResult<Self> {
        if texts.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err(
                "expected an iterable of texts, not one text: nlp(text) parses that",
            ));
        }
        if batch_size == 0 || jobs == Some(0) {
            return Err(wrong("batch_size and jobs must be at least 1"));
        }
        let jobs = jobs.unwrap_or_else(default_jobs);
        let (work, todo) = mpsc::channel::<(u64, Vec<Input>)>();
        let (done, results) = mpsc::channel();
        let todo = Arc::new(Mutex::new(todo));
        for _ in 0..jobs {
            let (todo, done, shared, options) = (todo.clone(), done.clone(), shared.clone(), options.clone());
            std::thread::Builder::new().name("treewright".to_owned()).spawn(move || {
                let mut worker = shared.worker();
                loop {
                    let next = todo.lock().expect("nobody panics while waiting").recv();
                    let Ok((number, inputs)) = next else { break };
                    let parse = |input| shared.parse(&mut worker, input, &options, || false);
                    if done.send((number, inputs.into_iter().map(parse).collect())).is_err() {
                        break;
                    }
                }
                shared.give_back(worker);
            })?;
        }
        Ok(Pipe {
            shared,
            source: Some(texts.try_iter()?.unbind()),
            failed: None,
            work: Some(work),
            results: Mutex::new(results),
            early: BTreeMap::new(),
            ready: VecDeque::new(),
            n_given: 0,
            n_taken: 0,
            batch_size,
            max_in_flight: (IN_FLIGHT * jobs) as u64,
            process: std::process::id(),
        })
    }

    /// Reads one batch of the source and hands it to the threads.
    fn feed(&mut self, py: Python<'_>) {
        let Some(source) = self.source.as_ref().map(|source| source.clone_ref(py)) else { return };
        let mut source = source.into_bound(py);
        let mut batch = Vec::with_capacity(self.batch_size);
        while batch.len() < self.batch_size {
            match source.next().map(|item| Input::of(&item?, &self.shared)) {
                Some(Ok(input)) => batch.push(input),
                Some(Err(error)) => {
                    self.failed = Some(error);
                    self.source = None;
                    break;
                }
                None => {
                    self.source = None;
                    break;
                }
            }
        }
        if let (false, Some(work)) = (batch.is_empty(), &self.work) {
            work.send((self.n_given, batch)).expect("the threads wait for more");
            self.n_given += 1;
        }
        if self.source.is_none() {
            self.work = None;
        }
    }
}

#[pymethods]
impl Pipe {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Document>> {
        if self.process != std::process::id() {
            let message = "a pipe cannot be used in a forked process: call nlp.pipe there";
            return Err(PyRuntimeError::new_err(message));
        }
        loop {
            if let Some(document) = self.ready.pop_front() {
                return Ok(Some(document));
            }
            while self.source.is_some() && self.n_given - self.n_taken < self.max_in_flight {
                self.feed(py);
            }
            if self.n_taken == self.n_given {
                return self.failed.take().map_or(Ok(None), Err);
            }
            while !self.early.contains_key(&self.n_taken) {
                let results = &self.results;
                let next = py.detach(|| results.lock().expect("nobody panics here").recv_timeout(PATIENCE));
                match next {
                    Ok((number, parsed)) => drop(self.early.insert(number, parsed)),
                    Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(PyRuntimeError::new_err("a thread that parses has stopped"));
                    }
                }
            }
            let parsed = self.early.remove(&self.n_taken).expect("it was waited for");
            self.n_taken += 1;
            self.ready.extend(parsed.map_err(exception)?);
        }
    }
}
