//! A level is made, and changed while requests are in flight.

use core::fmt;

use super::requests::Requests;
use super::{Counters, Level, Sink};
use crate::demand::SeatDemand;
use crate::discipline::Discipline;
use crate::level::linger::Releases;
use crate::level::queues::Queues;
use crate::{Dealer, DealerError, Mode, Utilization};

/// What a level does with requests that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queuing {
    /// It has no limit: every request starts at once.
    Exempt,
    /// They are refused.
    Reject,
    /// They wait in fair queues.
    Queue {
        /// Number of queues, 1..=2^26.
        queues: u32,
        /// Queues in a flow's hand, 1..=15, within the entropy rule of [`Dealer`].
        hand_size: u32,
        /// Requests that a queue may hold while no seat is free.
        queue_length_limit: u32,
    },
}

impl Queuing {
    /// The number of queues that the reference's conditions compare with.
    pub(super) const fn desired_queues(self) -> i64 {
        match self {
            Self::Exempt => -1,
            Self::Reject => 0,
            Self::Queue { queues, .. } => queues as i64,
        }
    }
}

/// A configuration that no level can have. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelError {
    /// Queues and hand size do not go together.
    Dealer(DealerError),
    /// There is no memory for the queues.
    OutOfMemory,
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dealer(error) => error.fmt(f),
            Self::OutOfMemory => f.write_str("no memory for the queues"),
        }
    }
}

impl core::error::Error for LevelError {}

impl<D: Discipline> Level<D> {
    /// A level with the given discipline type; [`Level::new`] for the usual one.
    ///
    /// # Errors
    ///
    /// [`LevelError`].
    pub fn with_discipline(
        mode: Mode,
        queuing: Queuing,
        concurrency_limit: u32,
        now: u64,
    ) -> Result<Self, LevelError> {
        let mut level = Self {
            mode,
            queuing: Queuing::Reject,
            dealer: None,
            queue_length_limit: 0,
            hand_size: 0,
            concurrency_limit: 0,
            discipline: D::default(),
            queues: Queues::new(),
            requests: Requests::new(),
            releases: Releases::new(),
            now,
            requests_waiting: 0,
            seats_waiting: 0,
            requests_executing: 0,
            seats_in_use: 0,
            seats_requested: 0,
            active_queues: 0,
            enqueues: 0,
            hand_start: 0,
            demand: SeatDemand::new(now),
            counters: Counters::default(),
            utilization: None,
        };
        level.reconfigure(now, queuing, concurrency_limit, &mut super::TakeAll)?;
        Ok(level)
    }

    /// Gives the level another configuration. Running requests keep their seats, waiting ones their
    /// places; queues that are too many go as they empty.
    ///
    /// # Errors
    ///
    /// [`LevelError`]; nothing has changed.
    pub fn reconfigure(
        &mut self,
        now: u64,
        queuing: Queuing,
        concurrency_limit: u32,
        sink: &mut impl Sink,
    ) -> Result<(), LevelError> {
        let dealer = match queuing {
            Queuing::Queue { queues, hand_size, .. } => {
                Some(Dealer::new(queues, hand_size).map_err(LevelError::Dealer)?)
            }
            Queuing::Exempt | Queuing::Reject => None,
        };
        let wanted = dealer.map_or(0, |dealer| dealer.deck_size()).max(self.queues.len());
        if !self.queues.reserve(wanted) || !self.discipline.reserve(wanted) {
            return Err(LevelError::OutOfMemory);
        }

        let now = self.advance_to(now, sink);
        if self.queues.places() != wanted || self.queues.len() != wanted {
            self.rearrange(wanted.max(self.queues.len()));
        }
        if let Queuing::Queue { hand_size, queue_length_limit, .. } = queuing {
            self.queue_length_limit = queue_length_limit;
            self.hand_size = hand_size;
            self.hand_start = self.enqueues.checked_rem(u64::from(hand_size)).map_or(0, |start| start as u32);
        }
        self.queuing = queuing;
        self.dealer = dealer;
        self.concurrency_limit = u64::from(concurrency_limit);
        if let Some(utilization) = &mut self.utilization {
            utilization.divide_by(queuing, self.concurrency_limit);
        }
        self.dispatch(now, sink);
        Ok(())
    }

    /// Measures how full the level is from now on. `spare` stands for its limit while that is 0: a tenth of the
    /// server's seats, at least 1.
    pub fn measure_utilization(&mut self, spare: u32) {
        let mut utilization = Utilization::new(self.now, u64::from(spare));
        utilization.divide_by(self.queuing, self.concurrency_limit);
        self.utilization = Some(utilization);
    }

    /// Closes the gaps that removed queues have left and appends queues until there are `wanted`.
    fn rearrange(&mut self, wanted: u32) {
        let places = wanted.max(self.queues.len());
        self.discipline.arrange(places, |place| self.queues.rank(place));
        self.queues.arrange(wanted);
        for place in 0..self.queues.places() {
            // Published only: no head and no tag has changed, so the bound is not due.
            if let Some(queue) = self.queues.get(self.queues.at_place(place)) {
                self.discipline.publish(queue.place, &queue.tag, queue.head(&self.requests));
            }
        }
    }
}

impl Level {
    /// A level with the reference's discipline, empty, whose seat demand is measured from `now` on.
    ///
    /// # Errors
    ///
    /// [`LevelError`].
    pub fn new(mode: Mode, queuing: Queuing, concurrency_limit: u32, now: u64) -> Result<Self, LevelError> {
        Self::with_discipline(mode, queuing, concurrency_limit, now)
    }
}
