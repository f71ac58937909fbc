//! The one bridge from the library's errors to Python's exceptions.

use dkae::Error;
use pyo3::PyErr;
use pyo3::exceptions::{PyArithmeticError, PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

/// What Python calls this kind of error, with the library's message.
pub fn to_python(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        // The system's own number makes it a FileNotFoundError, a PermissionError and so on.
        Error::Io { path, source } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, source.kind().to_string(), path.into_os_string())),
            None => PyOSError::new_err(message),
        },
        Error::Format { .. } | Error::Setting { .. } | Error::Data(_) => PyValueError::new_err(message),
        Error::Numeric(_) => PyArithmeticError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
