//! What functions answer. The numbers never change; the names are those of docs/errors.md.

use apf::{AdmitError, Reason};

/// What a function answers: APF_OK, or why it did nothing. Numbers are never changed or reused.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "names of the C interface")]
pub enum apf_status {
    /// Done.
    APF_OK = 0,

    /// A pointer that must not be NULL is NULL.
    APF_ERROR_NULL_ARGUMENT = 1,
    /// An argument is out of its range: a size that no version of the structure has, a number that is no value of its
    /// enumeration, a length that no memory has.
    APF_ERROR_INVALID_ARGUMENT = 2,
    /// A string is not UTF-8.
    APF_ERROR_UTF8 = 3,
    /// The caller's buffer is too small; the size it needs has been written.
    APF_ERROR_BUFFER_TOO_SMALL = 4,
    /// The request is no request: it has neither or more than one of resource, path and url, or its url is not that of
    /// an HTTP request.
    APF_ERROR_REQUEST = 5,
    /// Its seats or its latency are out of range: initial seats 0, a width above 4194303, a latency above 2^63 - 1 ns.
    APF_ERROR_ESTIMATE = 6,
    /// There is no priority level of this name or number.
    APF_ERROR_LEVEL = 7,

    /// The ticket is all zeros.
    APF_ERROR_NULL_TICKET = 20,
    /// The ticket is another engine's.
    APF_ERROR_FOREIGN_TICKET = 21,
    /// The request of this ticket is over (finished, cancelled, refused), or there was never such a ticket.
    APF_ERROR_STALE_TICKET = 22,
    /// The request still waits, or its completion has not been taken: it cannot be finished, only cancelled.
    APF_ERROR_NOT_ADMITTED = 23,
    /// The request runs: it cannot be cancelled, only finished.
    APF_ERROR_ALREADY_ADMITTED = 24,
    /// The seats of this request have been given back early.
    APF_ERROR_ALREADY_RELEASED = 25,
    /// Another thread is at work with this ticket or queue right now.
    APF_ERROR_BUSY = 26,

    /// The configuration is refused; the problems say why.
    APF_ERROR_CONFIGURATION = 40,
    /// The number of seats of the server is not in 1..=2147483647.
    APF_ERROR_SEATS = 41,
    /// The engine's clock runs by itself: the host cannot set it.
    APF_ERROR_CLOCK = 42,
    /// The queue belongs to another engine, or its engine is gone.
    APF_ERROR_FOREIGN_QUEUE = 43,
    /// The queue hands its completions to a callback: it cannot be polled or watched.
    APF_ERROR_CALLBACK_QUEUE = 44,

    /// No memory for another request.
    APF_ERROR_OUT_OF_MEMORY = 60,
    /// This process is a fork of the one that made the engine: make another one here.
    APF_ERROR_FORKED = 61,
    /// The operating system refused a thread or a file descriptor.
    APF_ERROR_SYSTEM = 62,
    /// A defect in the library. The call may have had part of its effect; the engine can be used on.
    APF_ERROR_PANIC = 63,
}

use apf_status::*;

impl apf_status {
    const ALL: [Self; 24] = [
        APF_OK,
        APF_ERROR_NULL_ARGUMENT,
        APF_ERROR_INVALID_ARGUMENT,
        APF_ERROR_UTF8,
        APF_ERROR_BUFFER_TOO_SMALL,
        APF_ERROR_REQUEST,
        APF_ERROR_ESTIMATE,
        APF_ERROR_LEVEL,
        APF_ERROR_NULL_TICKET,
        APF_ERROR_FOREIGN_TICKET,
        APF_ERROR_STALE_TICKET,
        APF_ERROR_NOT_ADMITTED,
        APF_ERROR_ALREADY_ADMITTED,
        APF_ERROR_ALREADY_RELEASED,
        APF_ERROR_BUSY,
        APF_ERROR_CONFIGURATION,
        APF_ERROR_SEATS,
        APF_ERROR_CLOCK,
        APF_ERROR_FOREIGN_QUEUE,
        APF_ERROR_CALLBACK_QUEUE,
        APF_ERROR_OUT_OF_MEMORY,
        APF_ERROR_FORKED,
        APF_ERROR_SYSTEM,
        APF_ERROR_PANIC,
    ];

    /// The name in docs/errors.md, the same in every language, and a sentence.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            APF_OK => ("ok", "done"),
            APF_ERROR_NULL_ARGUMENT => ("null-argument", "a pointer that must not be NULL is NULL"),
            APF_ERROR_INVALID_ARGUMENT => ("invalid-argument", "an argument is out of its range"),
            APF_ERROR_UTF8 => ("utf8", "a string is not UTF-8"),
            APF_ERROR_BUFFER_TOO_SMALL => ("buffer-too-small", "the buffer is too small"),
            APF_ERROR_REQUEST => {
                ("request", "a request needs exactly one of resource, path and url, and a url must be one")
            }
            APF_ERROR_ESTIMATE => (
                "estimate",
                "initial seats must be 1..=4194303, final seats at most that, the latency below 2^63 ns",
            ),
            APF_ERROR_LEVEL => ("level", "there is no such priority level"),
            APF_ERROR_NULL_TICKET => ("null-ticket", "the ticket is all zeros"),
            APF_ERROR_FOREIGN_TICKET => ("foreign-ticket", "the ticket is another engine's"),
            APF_ERROR_STALE_TICKET => ("stale-ticket", "the request of this ticket is over, or never was"),
            APF_ERROR_NOT_ADMITTED => ("not-admitted", "the request still waits"),
            APF_ERROR_ALREADY_ADMITTED => ("already-admitted", "the request runs: finish it"),
            APF_ERROR_ALREADY_RELEASED => ("already-released", "its seats have been given back early"),
            APF_ERROR_BUSY => ("busy", "another thread is at work with this ticket or queue"),
            APF_ERROR_CONFIGURATION => ("configuration", "the configuration is refused"),
            APF_ERROR_SEATS => ("seats", "the server's seats must be 1..=2147483647"),
            APF_ERROR_CLOCK => ("clock", "the engine's clock runs by itself"),
            APF_ERROR_FOREIGN_QUEUE => ("foreign-queue", "the queue's engine is another one, or gone"),
            APF_ERROR_CALLBACK_QUEUE => ("callback-queue", "the queue hands its completions to a callback"),
            APF_ERROR_OUT_OF_MEMORY => ("out-of-memory", "no memory for another request"),
            APF_ERROR_FORKED => ("forked", "this engine belongs to the parent of this process"),
            APF_ERROR_SYSTEM => ("system", "the operating system refused a thread or a file descriptor"),
            APF_ERROR_PANIC => ("panic", "a defect in the library"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        self.texts().0
    }

    pub(crate) fn sentence(self) -> &'static str {
        self.texts().1
    }

    pub(crate) fn of_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as i32 == number)
    }
}

/// Why a request was refused: the label `reason` of kube-apiserver's metric `rejected_requests_total`.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "names of the C interface")]
pub enum apf_reason {
    /// It was not.
    APF_REASON_NONE = 0,
    /// No seat is free and its queue is full.
    APF_REASON_QUEUE_FULL = 1,
    /// Its level does not queue (or the call did not) and has too few free seats.
    APF_REASON_CONCURRENCY_LIMIT = 2,
    /// It waited for as long as it may.
    APF_REASON_TIME_OUT = 3,
    /// Its caller gave up. Seen in statistics alone, for there is nobody to tell.
    APF_REASON_CANCELLED = 4,
}

impl From<Reason> for apf_reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::QueueFull => Self::APF_REASON_QUEUE_FULL,
            Reason::ConcurrencyLimit => Self::APF_REASON_CONCURRENCY_LIMIT,
            Reason::TimeOut => Self::APF_REASON_TIME_OUT,
            Reason::Cancelled => Self::APF_REASON_CANCELLED,
        }
    }
}

impl From<&AdmitError> for apf_status {
    /// A refusal is no error: it is an outcome.
    fn from(error: &AdmitError) -> Self {
        match error {
            AdmitError::Rejected(_) => APF_OK,
            AdmitError::Estimate => APF_ERROR_ESTIMATE,
            AdmitError::OutOfMemory => APF_ERROR_OUT_OF_MEMORY,
            AdmitError::Forked => APF_ERROR_FORKED,
        }
    }
}

impl apf_reason {
    pub(crate) fn name(number: i32) -> &'static str {
        let reasons = [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled];
        let found = reasons.into_iter().find(|reason| Self::from(*reason) as i32 == number);
        found.map_or("", Reason::as_str)
    }
}
