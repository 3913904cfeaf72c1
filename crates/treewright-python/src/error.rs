//! Errors of the library as Python exceptions.

use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treewright::{Code, Error};

create_exception!(
    treewright,
    TreewrightError,
    PyValueError,
    "What is wrong with an input, a model or settings. `code` is stable (such as TW104); `file`, `line`, `column` and \
     `sentence` say where, from 1, and are None where that is not known."
);

/// The exception for an error, with the message that the program prints.
pub fn exception(error: Error) -> PyErr {
    let raised = TreewrightError::new_err(error.to_string());
    let known = |number: usize| Some(number).filter(|&number| number > 0);
    let location = error.location;
    Python::attach(|py| {
        let value = raised.value(py);
        value.setattr("code", error.code.as_str())?;
        value.setattr("file", Some(location.file).filter(|file| !file.is_empty()))?;
        value.setattr("line", known(location.line))?;
        value.setattr("column", known(location.column))?;
        value.setattr("sentence", known(location.sentence))
    })
    .map_or_else(|other| other, |()| raised)
}

/// An exception for a value that cannot be right.
pub fn wrong(message: impl Into<String>) -> PyErr {
    exception(Error::new(Code::Usage, message))
}
