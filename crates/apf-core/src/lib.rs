//! The pure state machine of Kubernetes API Priority and Fairness (KEP-1040).
//!
//! One [`Level`] is one priority level: it takes time-stamped events (a request arrives, finishes,
//! is cancelled; a delayed release falls due; the configuration changes) and answers with decisions.
//! Time is an argument, in nanoseconds since an arbitrary origin; nothing here reads a clock, blocks,
//! logs, or panics. After warm-up nothing allocates on the admission path: memory is only asked for
//! when more requests are in the level than ever before, or when it is reconfigured.
//!
//! # Reading order
//!
//! A request meets the modules in this order: [`flow_hash`], [`work`], [`deal`] (its hand of queues),
//! `level::arrive`, `level::dispatch` and [`discipline`] (whose turn it is), `level::finish`, and
//! `level::linger` (seats held after the end). [`demand`], [`limits`] and [`borrow`] are the
//! whole-server view: how many seats a level has; [`utilization`] is how full it is.
//!
//! # Example
//!
//! ```
//! use apf_core::{Arrival, Arrived, Level, Mode, Queuing, TakeAll, WorkEstimate};
//!
//! let queuing = Queuing::Queue { queues: 64, hand_size: 8, queue_length_limit: 50 };
//! let mut level = Level::new(Mode::Default, queuing, 1, 0)?;
//! let arrival = Arrival { flow_hash: 7, work: WorkEstimate::seats(1), token: 0 };
//!
//! let Arrived::Executing(first) = level.arrive(0, arrival, &mut TakeAll)? else { panic!() };
//! let Arrived::Waiting(second) = level.arrive(10, arrival, &mut TakeAll)? else { panic!() };
//! level.finish(1_000_000, first, &mut TakeAll)?; // one seat: the second request starts now
//! assert_eq!(level.requests_executing(), 1);
//! level.finish(2_000_000, second, &mut TakeAll)?;
//! assert!(level.is_idle());
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```

#![no_std]

extern crate alloc;

pub mod borrow;
pub mod deal;
pub mod demand;
pub mod discipline;
pub mod flow_hash;
pub mod level;
pub mod limits;
mod mode;
mod reserved;
mod rounding;
pub mod seat_seconds;
pub mod utilization;
pub mod work;

pub use borrow::{Adjusted, Borrower, Outcome, adjust};
pub use deal::{Dealer, DealerError, Hand};
pub use demand::{DemandPeriod, DemandStats};
pub use flow_hash::FlowHash;
pub use level::{
    Answer, Arrival, ArriveError, Arrived, Cancelled, Cause, Counters, Finished, Grant, Level, LevelError,
    QueueView, Queuing, Reason, RequestId, RequestState, RequestView, Sink, StaleRequest, TakeAll,
};
pub use limits::{LevelLimits, LevelShares, LimitsError, level_limits, max_seats};
pub use mode::Mode;
pub use seat_seconds::SeatSeconds;
pub use utilization::{RatioHistogram, Utilization};
pub use work::{MAX_SEATS, WorkEstimate};
