//! A file descriptor that is readable while a queue has something: an eventfd on Linux, a pipe elsewhere.
//!
//! There is none until somebody asks for it, so hosts that poll by themselves pay no system call.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use rustix::io::{Errno, read, write};

#[derive(Debug, Default)]
pub(crate) struct Bell {
    ends: OnceLock<Ends>,
    /// Whether it has been rung since it was last hushed. Set after the write: then at worst it is heard once in vain.
    rung: AtomicBool,
    /// Asks one waiter to come back without completions.
    woken: AtomicBool,
}

#[derive(Debug)]
struct Ends {
    read: OwnedFd,
    /// `None` for an eventfd, which is both ends.
    write: Option<OwnedFd>,
}

impl Ends {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn new() -> Result<Self, Errno> {
        use rustix::event::{EventfdFlags, eventfd};
        let read = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { read, write: None })
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn new() -> Result<Self, Errno> {
        use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
        let (read, write) = rustix::pipe::pipe()?;
        for end in [&read, &write] {
            fcntl_setfd(end, FdFlags::CLOEXEC)?;
            ioctl_fionbio(end, true)?;
        }
        Ok(Self { read, write: Some(write) })
    }
}

impl Bell {
    fn ends(&self) -> Result<&Ends, Errno> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends);
        }
        let new = Ends::new()?;
        let ends = self.ends.get_or_init(|| new);
        // What came before there was a bell.
        self.ring();
        Ok(ends)
    }

    /// The descriptor to watch.
    pub(crate) fn descriptor(&self) -> Result<RawFd, Errno> {
        Ok(self.ends()?.read.as_raw_fd())
    }

    pub(crate) fn ring(&self) {
        let Some(ends) = self.ends.get() else { return };
        // Full means that it is readable already.
        let _ = write(ends.write.as_ref().unwrap_or(&ends.read), &1_u64.to_ne_bytes());
        self.rung.store(true, Ordering::Release);
    }

    /// Before the list is taken: what comes after that rings again.
    pub(crate) fn hush(&self) {
        let Some(ends) = self.ends.get() else { return };
        if self.rung.swap(false, Ordering::AcqRel) {
            let mut counts = [0; 64];
            // A pipe may hold several.
            while read(&ends.read, &mut counts).is_ok_and(|len| len == counts.len()) {}
        }
    }

    /// Has one waiter come back.
    pub(crate) fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.ring();
    }

    /// Whether a waiter has been asked to come back; it is not asked twice.
    pub(crate) fn is_woken(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    /// Waits until it rings. `false` when `deadline` comes first.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Result<bool, Errno> {
        let ends = self.ends()?;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let timeout = left.map(timespec);
            let mut watched = [PollFd::from_borrowed_fd(ends.read.as_fd(), PollFlags::IN)];
            match poll(&mut watched, timeout.as_ref()) {
                Ok(0) if left.is_some_and(|left| left.is_zero()) => return Ok(false),
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    // A day is long enough: the loop goes on.
    let duration = duration.min(Duration::from_secs(86_400));
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: duration.subsec_nanos().into() }
}
