//! A level with two seats from the first request to the last, told in lines that do not depend on the machine.

use crate::line::Line;
use apf_core::{
    Answer, Arrival, ArriveError, Arrived, Cancelled, Cause, Finished, FlowHash, Grant, Level, LevelError,
    Mode, Queuing, RequestId, RequestState, Sink, StaleRequest, WorkEstimate,
};
use core::hint::black_box;

const MILLISECOND: u64 = 1_000_000;

/// Any of the ways in which the core refuses a call.
pub(crate) struct Refused;

impl From<LevelError> for Refused {
    fn from(_: LevelError) -> Self {
        Self
    }
}

impl From<ArriveError> for Refused {
    fn from(_: ArriveError) -> Self {
        Self
    }
}

impl From<StaleRequest> for Refused {
    fn from(_: StaleRequest) -> Self {
        Self
    }
}

/// Prints every grant; the request with the token `leaves` has gone when its turn comes.
struct Printer {
    leaves: u64,
}

impl Sink for Printer {
    fn grant(&mut self, grant: Grant) -> Answer {
        let gone = grant.token == self.leaves;
        Line::new(if gone { "  not taken" } else { "  granted" })
            .number(grant.token)
            .named("after", grant.start.wrapping_sub(grant.arrival) / MILLISECOND)
            .text(" ms, queue")
            .number(grant.queue.map_or(0, u64::from))
            .named("final seats", grant.final_seats)
            .named("latency", grant.additional_latency / MILLISECOND)
            .text(" ms")
            .print();
        if gone { Answer::Gone(Cause::Caller) } else { Answer::Taken }
    }
}

/// The level, its clock, and where its grants go.
struct Stage {
    level: Level,
    now: u64,
    printer: Printer,
}

impl Stage {
    fn say(&self, what: &str) {
        Line::new(what)
            .named("at", self.now / MILLISECOND)
            .text(" ms:")
            .named("waiting", self.level.requests_waiting())
            .named("seats", self.level.seats_waiting())
            .named("executing", self.level.requests_executing())
            .named("seats", self.level.seats_in_use())
            .named("R", self.level.progress().raw())
            .print();
    }

    fn after(&mut self, milliseconds: u64) -> u64 {
        self.now = black_box(self.now.wrapping_add(milliseconds.wrapping_mul(MILLISECOND)));
        self.now
    }

    fn arrive(
        &mut self,
        token: u64,
        schema: &str,
        user: &str,
        work: WorkEstimate,
    ) -> Result<Arrived, Refused> {
        let flow_hash = black_box(self.level.mode().flow_hash()).hash(black_box(schema), black_box(user));
        let now = self.after(1);
        let arrival = black_box(Arrival { flow_hash, work, token });
        let arrived = self.level.arrive(now, arrival, &mut self.printer)?;
        match arrived {
            Arrived::Executing(_) => self.say("executing"),
            Arrived::Waiting(_) => self.say("waiting"),
            Arrived::Rejected(reason) => self.say(reason.as_str()),
            Arrived::Gone => self.say("gone"),
        }
        Ok(arrived)
    }

    fn finish(&mut self, id: RequestId) -> Result<Finished, Refused> {
        let now = self.after(5);
        let finished = self.level.finish(now, black_box(id), &mut self.printer)?;
        self.say(if finished.release_at.is_some() { "lingering" } else { "finished" });
        Ok(finished)
    }

    fn cancel(&mut self, id: RequestId, cause: Cause) -> Result<(), Refused> {
        let now = self.after(1);
        match self.level.cancel(now, black_box(id), black_box(cause), &mut self.printer)? {
            Cancelled::Removed(reason) => self.say(reason.as_str()),
            Cancelled::Executing => self.say("already executing"),
        }
        Ok(())
    }

    fn reconfigure(&mut self, queuing: Queuing, limit: u32) -> Result<(), Refused> {
        let now = self.after(1);
        self.level.reconfigure(now, black_box(queuing), black_box(limit), &mut self.printer)?;
        self.say("reconfigured");
        Ok(())
    }

    /// The handle of a waiting or executing request, found as a host would find it in a dump.
    fn find(&self, token: u64, state: RequestState) -> Result<RequestId, Refused> {
        let queues = (0..64).flat_map(|index| self.level.waiting(black_box(index)));
        let mut all = queues.chain(self.level.executing());
        let view = all.find(|view| view.token == token && view.state == state).ok_or(Refused)?;
        self.level.request(view.id).map(|view| view.id).ok_or(Refused)
    }

    fn first_executing(&self) -> Option<RequestId> {
        self.level.executing().find(|view| view.state == RequestState::Executing).map(|view| view.id)
    }

    fn finish_token(&mut self, token: u64) -> Result<Finished, Refused> {
        let id = self.find(token, RequestState::Executing)?;
        self.finish(id)
    }
}

/// Tells the story in one of the modes.
pub(crate) fn tell(mode: Mode) -> Result<(), Refused> {
    let queuing = Queuing::Queue { queues: 4, hand_size: 2, queue_length_limit: 2 };
    let level = Level::new(black_box(mode), black_box(queuing), black_box(2), black_box(0))?;
    let mut stage = Stage { level, now: 0, printer: Printer { leaves: 6 } };
    let one = WorkEstimate::seats(1);
    let lingers = WorkEstimate { initial_seats: 1, final_seats: 5, additional_latency: 8 * MILLISECOND };
    let wide = WorkEstimate::seats(9);

    Line::new(match stage.level.mode() {
        Mode::Exact => "exact mode, hash ",
        Mode::Default => "default mode, hash ",
    })
    .text(stage.level.mode().flow_hash().as_str())
    .print();

    stage.arrive(1, "lists", "alice", one)?;
    stage.arrive(2, "lists", "alice", one)?;
    stage.arrive(3, "lists", "alice", lingers)?;
    stage.arrive(4, "lists", "bob", wide)?;
    stage.arrive(5, "lists", "bob", one)?;
    stage.arrive(6, "lists", "carol", one)?;
    for token in 7..12 {
        stage.arrive(token, "lists", "dave", one)?;
    }
    let five = stage.find(5, RequestState::Waiting)?;
    stage.cancel(five, Cause::TimeOut)?;
    if stage.level.cancel(stage.now, five, Cause::Caller, &mut stage.printer).is_ok() {
        return Err(Refused); // a handle that has ended must stay so
    }
    stage.finish_token(1)?;
    stage.finish_token(2)?;
    stage.reconfigure(Queuing::Queue { queues: 2, hand_size: 1, queue_length_limit: 2 }, 3)?;
    while let Some(id) = stage.first_executing() {
        stage.finish(id)?;
        if let Some(due) = stage.level.next_release() {
            stage.now = due;
            stage.level.tick(due, &mut stage.printer);
            stage.say("released");
        }
    }
    for queue in stage.level.queues() {
        Line::new("queue")
            .number(u64::from(queue.index))
            .named("waiting", queue.waiting)
            .named("executing", queue.executing)
            .named(
                "seats",
                queue.seats_in_use.wrapping_add(queue.initial_seats_sum).wrapping_add(queue.max_seats_sum),
            )
            .named("work", queue.total_work_sum.raw())
            .named("next", queue.next_dispatch_r.raw())
            .print();
    }
    stage.reconfigure(Queuing::Reject, 1)?;
    stage.arrive(20, "lists", "erin", one)?;
    stage.arrive(21, "lists", "erin", one)?;
    stage.reconfigure(Queuing::Exempt, 0)?;
    stage.arrive(22, "probes", "erin", wide)?;
    stage.finish_token(22)?;
    stage.finish_token(20)?;
    totals(&mut stage);
    Ok(())
}

fn totals(stage: &mut Stage) {
    let now = stage.after(1);
    let period = stage.level.close_demand_period(now, &mut stage.printer);
    Line::new("demand, thousandths:")
        .named("seconds", thousandths(period.duration))
        .named("average", thousandths(period.average))
        .named("deviation", thousandths(period.deviation))
        .named("high", thousandths(period.high_watermark))
        .print();
    let counters = stage.level.counters();
    Line::new("dispatched")
        .number(counters.dispatched)
        .named("queue-full", counters.rejected_queue_full)
        .named("concurrency-limit", counters.rejected_concurrency_limit)
        .named("time-out", counters.timed_out)
        .named("cancelled", counters.cancelled)
        .named("no room", counters.no_accommodation)
        .named("trimmed", counters.final_seats_trimmed)
        .named("queues removed", counters.queues_removed)
        .print();
    Line::new("enqueues")
        .number(stage.level.enqueues())
        .named("robin", stage.level.robin_index().wrapping_add(1) as u64)
        .named("idle", u64::from(stage.level.is_idle()))
        .named("limit", stage.level.concurrency_limit())
        .named("exempt", u64::from(matches!(stage.level.queuing(), Queuing::Exempt)))
        .print();
}

/// A number of seats or seconds in thousandths, rounded down.
pub(crate) fn thousandths(value: f64) -> u64 {
    (value * 1e3) as u64
}

/// Both hashes of one flow.
pub(crate) fn hashes() {
    for hash in [FlowHash::Sha256, FlowHash::Xxh3] {
        Line::new("flow hash ")
            .text(hash.as_str())
            .number(
                black_box(hash)
                    .hash(black_box("service-accounts"), black_box("system:serviceaccount:default:default")),
            )
            .print();
    }
}

/// A year at a hundred seats and more, until the progress meter has been wound back.
pub(crate) fn years(mode: Mode) -> Result<(), Refused> {
    let queuing = Queuing::Queue { queues: 2, hand_size: 1, queue_length_limit: 9 };
    let level = Level::new(black_box(mode), queuing, black_box(1000), 0)?;
    let mut stage = Stage { level, now: 0, printer: Printer { leaves: 0 } };
    stage.printer.leaves = u64::MAX;
    let Arrived::Executing(_) = stage.arrive(1, "watch", "erin", WorkEstimate::seats(1000))? else {
        return Err(Refused);
    };
    let Arrived::Waiting(_) = stage.arrive(2, "watch", "erin", WorkEstimate::seats(1))? else {
        return Err(Refused);
    };
    const QUARTER: u64 = 90 * 24 * 3600 * 1_000_000_000;
    for _ in 0..30 {
        stage.now = black_box(stage.now.wrapping_add(QUARTER));
        stage.level.tick(stage.now, &mut stage.printer);
    }
    let counters = stage.level.counters();
    Line::new("epochs")
        .number(counters.epoch_advances)
        .named("failed", counters.failed_epoch_advances)
        .named("removals refused", counters.removals_refused)
        .named("R", stage.level.progress().raw())
        .named("clock", stage.level.now())
        .print();
    Ok(())
}
