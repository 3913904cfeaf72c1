//! The native half of the Python package `treewright`: what is worth doing without the interpreter. The other half, in
//! `python/treewright`, documents it for Python and joins it to NLTK, spaCy, pandas, Spark and Ray.

mod arrow;
mod error;
mod interrupt;
mod model;
mod pipe;
mod tools;
mod values;

/// See `python/treewright/__init__.py`.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::error::TreewrightError;
    #[pymodule_export]
    use crate::model::{Model, load};
    #[pymodule_export]
    use crate::pipe::Pipe;
    #[pymodule_export]
    use crate::tools::{convert, derive, evaluate, from_string, oracle, read, train};
    #[pymodule_export]
    use crate::values::{Document, Sentence, Token, Tree};
}
