//! Which waiting requests of one event loop have been decided: a list, and a file descriptor that the loop watches.
//!
//! Whoever decides a request (any thread, with or without the interpreter's lock) puts its number on the list and, if
//! nobody has since the list was last taken, writes one byte. The loop wakes once for all that have come meanwhile.

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::prelude::*;

/// The decided requests of one event loop.
#[pyclass(frozen, module = "apf_core._native")]
pub(crate) struct Completions(Arc<Shared>);

struct Shared {
    list: Mutex<List>,
    /// Both ends live as long as any waker: a late byte finds its reader.
    reader: UnixStream,
    writer: UnixStream,
}

#[derive(Default)]
struct List {
    tokens: Vec<u64>,
    /// Whether a byte is on its way since the list was last taken.
    announced: bool,
}

impl Shared {
    fn complete(&self, token: u64) {
        let announce = {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            list.tokens.push(token);
            !std::mem::replace(&mut list.announced, true)
        };
        if announce {
            // There is room: at most a few bytes are ever on their way.
            let _ = (&self.writer).write(&[1]);
        }
    }
}

/// Wakes one waiting request.
struct Completion {
    shared: Arc<Shared>,
    token: u64,
}

impl Wake for Completion {
    fn wake(self: Arc<Self>) {
        self.shared.complete(self.token);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.shared.complete(self.token);
    }
}

impl Completions {
    /// Puts `token` on the list when it is woken.
    pub(crate) fn waker(&self, token: u64) -> Waker {
        Waker::from(Arc::new(Completion { shared: Arc::clone(&self.0), token }))
    }
}

#[pymethods]
impl Completions {
    #[new]
    fn new() -> PyResult<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self(Arc::new(Shared { list: Mutex::default(), reader, writer })))
    }

    /// The file descriptor that becomes readable when there is something to take.
    fn fileno(&self) -> i32 {
        self.0.reader.as_raw_fd()
    }

    /// The tokens that have come since the last time.
    fn take(&self) -> Vec<u64> {
        // Before the list is taken: a byte that belongs to what comes later must stay.
        let mut bytes = [0; 64];
        while matches!((&self.0.reader).read(&mut bytes), Ok(64)) {}
        let mut list = self.0.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.announced = false;
        std::mem::take(&mut list.tokens)
    }
}
