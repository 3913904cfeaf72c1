//! Bytes that arrive while the program waits for them: pipes, terminals, devices.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// Chunks that may wait to be taken.
const N_WAITING: usize = 4;

/// Is everything there already, so that reading never waits? `-` is stdin.
pub(super) fn is_regular_file(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    if path.as_os_str() != "-" {
        return std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    }
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let stdin = io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
        stdin.and_then(|file| file.metadata()).is_ok_and(|metadata| metadata.is_file())
    }
    #[cfg(not(unix))]
    false
}

enum Chunk {
    Bytes(Vec<u8>),
    Failed(io::Error),
    End,
    /// Nobody wants more.
    Stop,
}

/// Ends the waiting of a [`Live`] source.
#[derive(Default)]
pub(super) struct Interrupt {
    state: Mutex<InterruptState>,
}

#[derive(Default)]
struct InterruptState {
    is_raised: bool,
    /// To the source that is being read.
    source: Option<SyncSender<Chunk>>,
}

impl Interrupt {
    /// From now on reading fails, and a thread that waits for input is woken.
    pub(super) fn raise(&self) {
        let mut state = self.state.lock().expect("nobody panics here");
        state.is_raised = true;
        if let Some(source) = &state.source {
            // If there is no room, nobody waits.
            let _ = source.try_send(Chunk::Stop);
        }
    }

    fn is_raised(&self) -> bool {
        self.state.lock().expect("nobody panics here").is_raised
    }
}

/// A source whose bytes are passed on as they arrive. Calls `before_waiting` before it blocks, so that pending input is
/// processed first.
///
/// A separate thread reads, and stops for good at the end of the input: at a terminal one Ctrl-D is enough.
pub(super) struct Live<'a> {
    chunks: Receiver<Chunk>,
    interrupt: &'a Interrupt,
    before_waiting: Box<dyn FnMut() + Send + 'a>,
    chunk: Vec<u8>,
    position: usize,
    at_end: bool,
}

impl<'a> Live<'a> {
    pub(super) fn new(
        source: Box<dyn Read + Send>,
        interrupt: &'a Interrupt,
        before_waiting: impl FnMut() + Send + 'a,
    ) -> Self {
        let (send, chunks) = sync_channel(N_WAITING);
        interrupt.state.lock().expect("nobody panics here").source = Some(send.clone());
        // Not joined: it may wait for input that nobody wants any more, and ends with the program.
        std::thread::spawn(move || pump(source, &send));
        let before_waiting = Box::new(before_waiting);
        Live { chunks, interrupt, before_waiting, chunk: Vec::new(), position: 0, at_end: false }
    }

    fn next_chunk(&mut self) -> Chunk {
        self.chunks.try_recv().unwrap_or_else(|_| {
            (self.before_waiting)();
            self.chunks.recv().unwrap_or(Chunk::End)
        })
    }
}

/// Reads to the end, or until nobody listens.
fn pump(mut source: Box<dyn Read + Send>, send: &SyncSender<Chunk>) {
    let mut buffer = vec![0; CHUNK];
    loop {
        let chunk = match source.read(&mut buffer) {
            Ok(0) => Chunk::End,
            Ok(n) => Chunk::Bytes(buffer[..n].to_vec()),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => Chunk::Failed(error),
        };
        let is_last = !matches!(chunk, Chunk::Bytes(_));
        if send.send(chunk).is_err() || is_last {
            return;
        }
    }
}

impl Read for Live<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.position == self.chunk.len() {
            if self.at_end {
                return Ok(0);
            }
            self.position = 0;
            self.chunk.clear();
            let chunk = self.next_chunk();
            self.at_end = !matches!(chunk, Chunk::Bytes(_)) || self.interrupt.is_raised();
            match chunk {
                _ if self.interrupt.is_raised() => return Err(io::Error::other("stopped")),
                Chunk::Bytes(bytes) => self.chunk = bytes,
                Chunk::Failed(error) => return Err(error),
                Chunk::End | Chunk::Stop => return Ok(0),
            }
        }
        let n = out.len().min(self.chunk.len() - self.position);
        out[..n].copy_from_slice(&self.chunk[self.position..self.position + n]);
        self.position += n;
        Ok(n)
    }
}
