//! `--jobs`, how many threads, and other numbers from 1.

use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::io::say;

/// More threads than this for each core only take memory.
const PER_CORE: usize = 4;

/// The number of threads that the user wants.
#[derive(Clone, Copy, Debug)]
pub struct Jobs(NonZeroUsize);

impl FromStr for Jobs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().map(Jobs).map_err(|_| "expected a number of threads, from 1".to_owned())
    }
}

impl Jobs {
    /// The number of threads to start: what was asked for, but no more than the machine has use for.
    pub fn threads(self, quiet: bool) -> usize {
        let most = PER_CORE * cores();
        let wanted = self.0.get();
        if wanted > most && !quiet {
            say!("note: {wanted} threads are more than this machine can use; {most} are started");
        }
        wanted.min(most)
    }
}

/// Reads a number that may not be 0.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().map(NonZeroUsize::get).map_err(|_| "expected a number, from 1".to_owned())
}

/// The number of cores: the default.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
