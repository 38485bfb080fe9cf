//! A forked child has no thread for timers: a request that would wait there is told so.

#![cfg(unix)]
#![allow(unsafe_code, reason = "fork is a system call")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use apf::{AdmitError, Dispatcher, RequestAttributes};

fn anyone() -> RequestAttributes<'static> {
    RequestAttributes::resource("get", "pods").by("alice", &["system:authenticated"][..])
}

#[test]
fn a_request_that_would_wait_in_a_forked_child_is_refused_at_once() {
    let dispatcher = Dispatcher::builder().seats(100).build().unwrap();
    // SAFETY: the child calls nothing but the dispatcher and `_exit`; no other thread of this process is in the gate
    // or holds a lock, for the only one besides the test's is asleep until the first adjustment in ten seconds.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let permits: Vec<_> = std::iter::from_fn(|| dispatcher.try_admit(anyone()).ok()).collect();
        let refused = dispatcher.admit_blocking(anyone());
        let as_promised = !permits.is_empty() && matches!(refused, Err(AdmitError::Forked));
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(i32::from(!as_promised)) }
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process and `status` is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child's verdict");
    assert!(dispatcher.try_admit(anyone()).is_ok(), "the parent is not touched");
}
