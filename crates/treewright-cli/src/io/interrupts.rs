//! What happens when the program is told to stop: temporary files are removed, and the user learns how to go on.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What a signal has to clean up.
pub(super) struct Pending {
    temporaries: Vec<PathBuf>,
    message: String,
}

impl Pending {
    /// A temporary file now exists.
    pub(super) fn add(&mut self, path: &Path) {
        self.temporaries.push(path.to_owned());
    }

    /// It has been moved to its place, or removed.
    pub(super) fn remove(&mut self, path: &Path) {
        self.temporaries.retain(|other| other != path);
    }
}

static PENDING: Mutex<Pending> = Mutex::new(Pending { temporaries: Vec::new(), message: String::new() });

/// Holds signals back while temporary files are made, moved and removed: a file is either listed here or not there.
pub(super) fn pending() -> MutexGuard<'static, Pending> {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, say this when a signal stops the program; nothing if it is empty.
pub fn say_when_interrupted(message: impl Into<String>) {
    pending().message = message.into();
}

#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    // Without a handler the program still runs; only a temporary file may be left when it is stopped.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(wanted) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Kept until the end, so that nothing is moved or made after this.
            let pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
            for path in &pending.temporaries {
                let _ = std::fs::remove_file(path);
            }
            if !pending.message.is_empty() {
                super::say!("\n{}", pending.message);
            }
            // The shell is to see that it was the signal that ended the program.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(not(unix))]
fn watch() {}

/// `nohup` and the shells have programs ignore signals; a handler would undo that.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & (1 << (signal - 1)) != 0,
        // Where this cannot be known, `nohup` matters more than a temporary file.
        None => signal == signal_hook::consts::SIGHUP,
    }
}
