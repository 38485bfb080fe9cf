//! Waiting for a grant by blocking the thread, without the interpreter's lock.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use apf::{OwnedAdmit, OwnedPermit};
use pyo3::prelude::*;

use crate::errors;

/// How often the main thread looks for signals, such as the one of Ctrl-C.
const SIGNALS: Duration = Duration::from_millis(50);
/// How often a thread looks at a clock that does not run by itself.
const GLANCE: Duration = Duration::from_millis(1);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until the request is decided, or a signal handler raises: then it gives its place up.
pub(crate) fn wait(py: Python<'_>, admit: OwnedAdmit, clock_runs: bool) -> PyResult<OwnedPermit> {
    let mut admit = match admit.at_once() {
        Ok(decided) => return decided.map_err(|error| errors::admission(py, error)),
        Err(waits) => waits,
    };
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let poll = |admit: &mut OwnedAdmit| Pin::new(admit).poll(&mut Context::from_waker(&waker));
    if let Poll::Ready(decided) = poll(&mut admit) {
        return decided.map_err(|error| errors::admission(py, error));
    }
    let is_main = is_main_thread(py)?;
    loop {
        let decided = py.detach(|| {
            loop {
                match (clock_runs, is_main) {
                    (false, _) => thread::park_timeout(GLANCE),
                    (true, true) => thread::park_timeout(SIGNALS),
                    (true, false) => thread::park(),
                }
                let decided = poll(&mut admit);
                if decided.is_ready() || is_main {
                    return decided;
                }
            }
        });
        if let Poll::Ready(decided) = decided {
            return decided.map_err(|error| errors::admission(py, error));
        }
        py.check_signals()?;
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}
