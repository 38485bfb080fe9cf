//! The state of a level as a 64-bit digest and as text, in the same form as the reference program's.

use std::fmt::Write;

use apf_core::Level;

const START: u64 = 0xcbf2_9ce4_8422_2325;
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Folds words into 64 bits: exclusive or, multiply, shift, for each word in turn.
#[derive(Debug, Clone, Copy)]
struct Fold(u64);

impl Fold {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(MULTIPLIER);
        self.0 ^= self.0 >> 29;
    }
}

/// What the reference counts as rejected: every reason.
fn rejected(level: &Level) -> u64 {
    let counters = level.counters();
    counters.rejected_queue_full
        + counters.rejected_concurrency_limit
        + counters.timed_out
        + counters.cancelled
}

/// The digest of everything that a level's decisions depend on, in the order that `TRACES.md` gives.
pub fn digest(level: &Level) -> u64 {
    let counters = level.counters();
    let mut fold = Fold(START);
    for word in [
        level.progress().raw(),
        level.robin_index() as u64,
        level.enqueues(),
        level.requests_waiting(),
        level.requests_executing(),
        level.seats_in_use(),
        level.seats_waiting(),
        rejected(level),
        counters.timed_out + counters.cancelled,
        counters.epoch_advances,
        counters.failed_epoch_advances,
        level.queues().count() as u64,
    ] {
        fold.add(word);
    }
    for queue in level.queues() {
        fold.add(queue.next_dispatch_r.raw());
        fold.add(queue.waiting);
        fold.add(queue.initial_seats_sum);
        fold.add(queue.max_seats_sum);
        fold.add(queue.total_work_sum.raw());
        fold.add(queue.executing);
        fold.add(queue.seats_in_use);
    }
    fold.0
}

/// What the digest folds, as lines of text, and each queue's waiting requests, oldest first.
pub fn describe(level: &Level) -> String {
    let counters = level.counters();
    let mut text = format!(
        "| R={} robin={} enqueues={} queues={}\n",
        level.progress().raw(),
        level.robin_index(),
        level.enqueues(),
        level.queues().count()
    );
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "| waiting={} executing={} seatsInUse={} seatsWaiting={} rejected={} cancelled={} epochs={} failedEpochs={}",
        level.requests_waiting(),
        level.requests_executing(),
        level.seats_in_use(),
        level.seats_waiting(),
        rejected(level),
        counters.timed_out + counters.cancelled,
        counters.epoch_advances,
        counters.failed_epoch_advances
    );
    for queue in level.queues() {
        let _ = write!(
            text,
            "| queue {}: nextDispatchR={} waiting={} initialSeats={} maxSeats={} work={} executing={} seatsInUse={}",
            queue.index,
            queue.next_dispatch_r.raw(),
            queue.waiting,
            queue.initial_seats_sum,
            queue.max_seats_sum,
            queue.total_work_sum.raw(),
            queue.executing,
            queue.seats_in_use
        );
        for request in level.waiting(queue.index) {
            let _ = write!(text, " {}", request.token);
        }
        text.push('\n');
    }
    text
}
