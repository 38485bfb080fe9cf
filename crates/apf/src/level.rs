//! A priority level in a dispatcher: its gate, its alarm, and how its refusals are answered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use apf_core::{DemandPeriod, Level, LevelError, Queuing};
use arc_swap::ArcSwap;

use crate::gate::{Gate, Held, Host};
use crate::retry_after::RetryAfter;
use crate::stats::Seen;
use crate::timers::Timers;

/// How long a reader of statistics waits for the level's present state before it takes the last one that was seen. The
/// role is held for microseconds, unless its thread is suspended.
const PATIENCE: Duration = Duration::from_millis(10);

/// One level, from its creation to the end of the dispatcher. A name that is removed and comes back gets another.
#[derive(Debug)]
pub(crate) struct LevelSlot {
    pub(crate) name: Arc<str>,
    pub(crate) gate: Gate,
    pub(crate) retry_after: RetryAfter,
    alarm: Arc<Alarm>,
    /// What was last seen of it.
    published: ArcSwap<Seen>,
}

/// Brings the ticks that a gate asks for.
#[derive(Debug)]
struct Alarm {
    timers: Weak<Timers>,
    level: usize,
    /// The earliest tick that is on the list; later wishes are asked for again by that tick.
    armed: AtomicU64,
}

impl Host for Alarm {
    fn alarm(&self, at: u64) {
        // Relaxed: the list's lock orders what follows.
        if at < self.armed.fetch_min(at, Ordering::Relaxed)
            && let Some(timers) = self.timers.upgrade()
        {
            timers.tick_at(at, self.level as u32);
        }
    }
}

impl LevelSlot {
    /// `index` is its place in the dispatcher's arena.
    pub(crate) fn new(name: &str, level: Level, index: usize, timers: &Arc<Timers>) -> Self {
        let alarm =
            Arc::new(Alarm { timers: Arc::downgrade(timers), level: index, armed: AtomicU64::new(u64::MAX) });
        let host: Arc<dyn Host> = Arc::<Alarm>::clone(&alarm);
        let published = ArcSwap::from_pointee(Seen::of(&level));
        let gate = Gate::new(level, host);
        Self { name: name.into(), gate, retry_after: RetryAfter::default(), alarm, published }
    }

    /// The alarm went off.
    pub(crate) fn tick(&self, now: u64) {
        // Before the tick: what it asks for must be put on the list.
        self.alarm.armed.store(u64::MAX, Ordering::Relaxed);
        self.gate.tick(now);
    }

    /// Has something done to the level and waits until it is; `None` when the level has been removed.
    ///
    /// # Blocking
    ///
    /// Until the thread that is in the role, if any, comes to it.
    pub(crate) fn control<R: Send + 'static>(
        &self,
        now: u64,
        operation: impl FnOnce(&mut Held<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let carry_out = move |held: &mut Held<'_>| {
            // The receiver waits below; a full channel or a lost receiver cannot be.
            let _ = send.try_send(operation(held));
        };
        let ticket = self.gate.control(now, carry_out).ok()?;
        let result = receive.recv().ok();
        self.gate.forget(ticket);
        result
    }

    /// The level's own numbers, as of now; or, while the thread that is in the role is suspended, as they were last seen.
    /// `None` when the level has been removed.
    ///
    /// # Blocking
    ///
    /// For 10 ms at most. No request waits for it.
    pub(crate) fn look(&self, now: u64) -> Option<Arc<Seen>> {
        let (send, receive) = std::sync::mpsc::sync_channel(1);
        let look = move |level: &Level| {
            // Whoever asked may have gone on; a full channel cannot be.
            let _ = send.try_send(Seen::of(level));
        };
        let ticket = self.gate.look(now, look).ok()?;
        if let Ok(seen) = receive.recv_timeout(PATIENCE) {
            self.published.store(Arc::new(seen));
        }
        self.gate.forget(ticket);
        Some(self.published.load_full())
    }

    pub(crate) fn reconfigure(
        &self,
        now: u64,
        queuing: Queuing,
        limit: u32,
    ) -> Option<Result<(), LevelError>> {
        self.control(now, move |held| held.reconfigure(queuing, limit))
    }

    pub(crate) fn close_demand_period(&self, now: u64) -> Option<DemandPeriod> {
        self.control(now, |held| held.close_demand_period())
    }

    /// Whether it has been removed and nothing is in it any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.gate.is_retired()
    }
}
