//! What happens when the program is told to stop: temporary files are removed, and the user learns how to go on.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What a signal has to clean up.
pub(super) struct Pending {
    temporaries: Vec<PathBuf>,
    /// A file of which only the first bytes are whole.
    partial: Option<(PathBuf, u64)>,
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

    /// This many bytes of a file are whole, and stay.
    pub(super) fn set_partial(&mut self, path: &Path, n_bytes: u64) {
        match &mut self.partial {
            Some((old, n)) if old == path => *n = n_bytes,
            partial => *partial = Some((path.to_owned(), n_bytes)),
        }
    }

    /// See [`say_when_interrupted`].
    pub(super) fn set_message(&mut self, message: String) {
        self.message = message;
    }

    /// Everything is in its place.
    pub(super) fn clear(&mut self) {
        *self = Pending::new();
    }

    const fn new() -> Self {
        Pending { temporaries: Vec::new(), partial: None, message: String::new() }
    }
}

static PENDING: Mutex<Pending> = Mutex::new(Pending::new());

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

/// A file that would become larger than the system allows is an error like a full disk, not the end of the program.
pub fn fail_instead_of_dying_on_large_files() {
    #[cfg(unix)]
    {
        let seen = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, seen);
    }
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
            if let Some((path, n_bytes)) = &pending.partial {
                let file = std::fs::File::options().write(true).open(path);
                let _ = file.and_then(|file| file.set_len(*n_bytes));
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
