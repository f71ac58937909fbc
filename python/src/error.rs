//! The one bridge from the library's errors to Python's exceptions.

use std::io::ErrorKind;

use dkae::Error;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyArithmeticError, PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyPermissionError, PyRuntimeError,
    PyValueError,
};

/// Settings of the library that have another name among the parameters of the estimators.
const NAMES: [(&str, &str); 22] = [
    ("lambda", "lam"),
    ("layers", "hidden, n_codes"),
    ("batch", "batch_size"),
    ("steps", "max_steps"),
    ("pretrain", "pretrain_steps"),
    ("rate", "learning_rate"),
    ("weight-decay", "weight_decay"),
    ("split", "validation_fraction"),
    ("prior", "K"),
    ("components", "n_components"),
    ("candidates", "n_candidates"),
    ("neighbours", "n_neighbors"),
    ("landmarks", "n_landmarks"),
    ("tolerance", "tol"),
    ("max-iterations", "max_iter"),
    ("max_iterations", "max_iter"),
    ("c", "C"),
    ("restarts", "n_restarts"),
    ("max-components", "max_components"),
    ("width", "sigma"),
    ("rbf-width", "sigma"),
    ("offset", "coef0"),
];

/// Words of the library's messages that have no parameter here.
const WORDS: [(&str, &str); 4] = [
    ("lower the learning rate or set a gradient clip", "lower learning_rate"),
    ("lower the learning rate", "lower learning_rate"),
    ("give the width as a number", "give gamma or sigma in kernel_params"),
    ("set lambda to 0", "set lam to 0"),
];

/// The library's message in the words of the estimators' parameters.
fn worded(error: &Error) -> String {
    let message = match error {
        Error::Setting { name, message } => {
            let ours = NAMES.iter().find(|(theirs, _)| theirs == name).map_or(*name, |(_, ours)| ours);
            format!("{ours}: {message}")
        }
        other => other.to_string(),
    };
    WORDS.iter().fold(message, |message, (theirs, ours)| message.replace(theirs, ours))
}

/// What Python calls this kind of error, with the library's message.
pub fn to_python(error: Error) -> PyErr {
    let message = worded(&error);
    match error {
        // The system's own number makes it a FileNotFoundError, a PermissionError and so on.
        Error::Io { path, source } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, source.kind().to_string(), path.into_os_string())),
            None if source.kind() == ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            None if source.kind() == ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            None => PyOSError::new_err(message),
        },
        Error::Format { .. } | Error::Setting { .. } | Error::Data(_) => PyValueError::new_err(message),
        Error::Numeric(_) => PyArithmeticError::new_err(message),
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        _ => PyRuntimeError::new_err(message),
    }
}
