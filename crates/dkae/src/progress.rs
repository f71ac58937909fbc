//! How long work talks to whoever waits for it: progress out, a wish to stop in.

use std::sync::{Mutex, PoisonError};

use crate::{Error, Result};

/// What a long computation reports to and asks.
pub trait Progress: Sync {
    /// `done` of `total` pieces of `what` are finished. Work that ends well reports `total` of `total` last: a search that
    /// needs less than it may take jumps there.
    fn step(&self, _what: &str, _done: u64, _total: u64) {}

    /// Whether to stop at the next good moment; the computation then returns [`Error::Interrupted`](crate::Error).
    fn stop(&self) -> bool {
        false
    }

    /// That error, when it is time to stop.
    fn check(&self) -> Result<()> {
        if self.stop() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Nobody is waiting: says nothing, never stops.
pub struct Silent;

impl Progress for Silent {}

/// Pieces of one work that end in any order, on any thread; reports come in order all the same.
pub(crate) struct Pieces<'a> {
    progress: &'a dyn Progress,
    what: &'static str,
    total: usize,
    done: Mutex<usize>,
}

impl<'a> Pieces<'a> {
    pub fn new(progress: &'a dyn Progress, what: &'static str, total: usize) -> Self {
        Self { progress, what, total, done: Mutex::new(0) }
    }

    /// Does a piece and reports it; does nothing when it is time to stop.
    pub fn one<T>(&self, piece: impl FnOnce() -> Result<T>) -> Result<T> {
        self.progress.check()?;
        let result = piece()?;
        self.count();
        Ok(result)
    }

    /// Reports a piece that was done.
    pub fn count(&self) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += 1;
        self.progress.step(self.what, *done as u64, self.total as u64);
    }
}
