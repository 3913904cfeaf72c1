//! Ctrl-C in calls that take long: somebody has to ask the interpreter now and then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// How often a long call asks.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// Tells all threads of a call to stop.
#[derive(Default)]
pub struct Stop(AtomicBool);

impl Stop {
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The thread that asks: the one that Python called.
pub struct Watch<'a> {
    stop: &'a Stop,
    asked: Instant,
    raised: Option<PyErr>,
}

impl<'a> Watch<'a> {
    pub fn new(stop: &'a Stop) -> Self {
        Watch { stop, asked: Instant::now(), raised: None }
    }

    /// Asks, if it is time; true if the call is to end.
    pub fn ask(&mut self) -> bool {
        if self.asked.elapsed() > PATIENCE {
            self.asked = Instant::now();
            if let Err(raised) = Python::attach(|py| py.check_signals()) {
                self.raised = Some(raised);
                self.stop.0.store(true, Ordering::Relaxed);
            }
        }
        self.stop.is_raised()
    }

    /// What ended the call, if anything did.
    pub fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
