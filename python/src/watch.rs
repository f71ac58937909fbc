//! Long work beside a thread that stays with Python.
//!
//! The work runs on a thread of its own, without the interpreter's lock. The calling thread waits: it looks for signals ten
//! times a second (Python delivers them to its main thread only) and is the one that runs Python code on behalf of the
//! work: a listener to training, a kernel written in Python. So such code runs on the thread it was written for, with
//! that thread's floating-point settings, and Ctrl-C is noticed wherever the work is.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dkae::progress::Progress;
use dkae::train::{Event, Losses, Observer, Phase};
use ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray2};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::error::to_python;

/// How often signals are looked for, and a listener hears of progress.
const TICK: Duration = Duration::from_millis(100);

/// What the work asks the thread that stayed with Python.
enum Request {
    /// Tell the listener about a step; the answer is whether to stop.
    Step { phase: Phase, step: u64, steps: u64, losses: Losses, reply: SyncSender<bool> },
    /// Tell the listener about work before training; nobody waits for it.
    Work { what: String, done: u64, total: u64 },
    /// The kernel between two blocks of rows; no answer when it failed.
    Kernel { a: Array2<f32>, b: Array2<f32>, reply: SyncSender<Option<Array2<f32>>> },
}

/// The Python code that work may need.
#[derive(Default)]
pub struct Hooks {
    /// Called with phase, step, steps and both losses; true stops training.
    pub listener: Option<Py<PyAny>>,
    /// Whether the listener wants every step rather than ten a second.
    pub every_step: bool,
    /// Called with two blocks of rows; gives a float32 array.
    pub kernel: Option<Py<PyAny>>,
}

impl Hooks {
    fn answer(&self, py: Python<'_>, request: Request) -> PyResult<()> {
        match request {
            Request::Step { phase, step, steps, losses, reply } => {
                let arguments = (phase.to_string(), step, steps, losses.reconstruction, losses.code);
                let stop = match &self.listener {
                    Some(listener) => listener.bind(py).call1(arguments)?.is_truthy()?,
                    None => false,
                };
                let _ = reply.send(stop);
            }
            Request::Work { what, done, total } => {
                if let Some(listener) = &self.listener {
                    listener.bind(py).call1((what, done, total, py.None(), py.None()))?;
                }
            }
            Request::Kernel { a, b, reply } => {
                let values = match &self.kernel {
                    Some(kernel) => {
                        let values = kernel.bind(py).call1((a.into_pyarray(py), b.into_pyarray(py)))?;
                        let values: PyReadonlyArray2<f32> = values.extract()?;
                        Some(values.as_array().to_owned())
                    }
                    None => None,
                };
                let _ = reply.send(values);
            }
        }
        Ok(())
    }
}

/// The work's side: progress out, a wish to stop in.
pub struct Watch<'a> {
    requests: Sender<Request>,
    stop: &'a AtomicBool,
    every_step: bool,
    listens: bool,
    /// When the listener last heard of work before training.
    told: Mutex<Instant>,
}

impl Watch<'_> {
    /// The Python kernel between two blocks of rows; nothing when it failed, and then the work is asked to stop.
    pub fn kernel(&self, a: Array2<f32>, b: Array2<f32>) -> Option<Array2<f32>> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.requests.send(Request::Kernel { a, b, reply }).ok()?;
        answer.recv().ok()?
    }

    /// An observer of training.
    pub fn observer(&self) -> impl Observer {
        let (mut last, mut steps) = (Instant::now(), 0);
        move |event: &Event| {
            if let Event::Phase { steps: all, .. } = event {
                steps = *all;
            }
            if let Event::Step { phase, step, losses } = *event
                && self.listens
                && (self.every_step || step == steps || last.elapsed() >= TICK)
            {
                last = Instant::now();
                let (reply, answer) = mpsc::sync_channel(1);
                let told = self.requests.send(Request::Step { phase, step, steps, losses, reply });
                if told.is_err() || answer.recv().unwrap_or(true) {
                    return ControlFlow::Break(());
                }
            }
            if self.stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
}

impl Progress for Watch<'_> {
    fn step(&self, what: &str, done: u64, total: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if self.listens && told.elapsed() >= TICK {
            *told = Instant::now();
            // The other end is gone only when the result is no longer wanted.
            let _ = self.requests.send(Request::Work { what: what.to_owned(), done, total });
        }
    }

    fn stop(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Runs `work` until it ends, or until a signal or an exception in Python code asks it to stop.
pub fn watched<T: Send>(
    py: Python<'_>,
    hooks: Hooks,
    work: impl FnOnce(&Watch) -> dkae::Result<T> + Send,
) -> PyResult<T> {
    py.detach(move || {
        let (requests, inbox) = mpsc::channel();
        let stop = AtomicBool::new(false);
        let (listens, told) = (hooks.listener.is_some(), Mutex::new(Instant::now()));
        let watch = Watch { requests, stop: &stop, every_step: hooks.every_step, listens, told };
        std::thread::scope(|scope| {
            // The inbox closes when the work is over and has dropped its end.
            let worker = scope.spawn(move || work(&watch));
            let mut failure = None;
            let mut looked = Instant::now();
            loop {
                let asked = match inbox.recv_timeout(TICK) {
                    // After a failure nobody is asked any more: dropping the request tells the work so.
                    Ok(request) if failure.is_none() => Python::attach(|py| hooks.answer(py, request)),
                    Ok(_) | Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                let signals = |_| {
                    if looked.elapsed() < TICK {
                        return Ok(());
                    }
                    looked = Instant::now();
                    Python::attach(|py| py.check_signals())
                };
                if let Err(error) = asked.and_then(signals)
                    && failure.is_none()
                {
                    stop.store(true, Relaxed);
                    failure = Some(error);
                }
            }
            let result = worker.join();
            match (failure, result) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => result.map_err(to_python),
                // A defect of the library: an error as any other, not the exception that ends notebooks and servers.
                (None, Err(panic)) => {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                    Err(PyRuntimeError::new_err(format!("a computation failed, please report it: {text}")))
                }
            }
        })
    })
}
