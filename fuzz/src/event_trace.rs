//! Any bytes as a sequence of events at one level, with everything that can be recomputed recomputed after each.

use crate::bytes::Bytes;
use apf_core::{
    Answer, Arrival, Arrived, Cancelled, Cause, Counters, DemandStats, Grant, Level, Mode, Queuing,
    RequestId, RequestState, Sink, WorkEstimate,
};
use std::collections::{BTreeMap, BTreeSet};

/// Runs the events in both modes.
pub fn run(data: &[u8]) {
    for mode in [Mode::Exact, Mode::Default] {
        let mut bytes = Bytes::new(data);
        let (queuing, limit) = configuration(&mut bytes);
        let Ok(level) = Level::new(mode, queuing, limit, 0) else { continue };
        let mut host = Host::new(level);
        while !bytes.is_empty() {
            host.event(&mut bytes);
            host.check();
        }
    }
}

fn configuration(bytes: &mut Bytes<'_>) -> (Queuing, u32) {
    let queuing = match bytes.below(8) {
        0 => Queuing::Exempt,
        1 => Queuing::Reject,
        _ => Queuing::Queue {
            queues: bytes.pick(&[1, 2, 3, 4, 7, 16, 64, 0]),
            hand_size: 1 + bytes.below(4) as u32,
            queue_length_limit: bytes.below(5) as u32,
        },
    };
    (queuing, bytes.pick(&[1, 2, 3, 5, 10, 100, 0, u32::MAX]))
}

/// What the host of the level knows of its requests, from the answers and grants alone.
struct Host {
    level: Level,
    now: u64,
    answers: Answers,
    /// Requests that wait or execute, by token.
    live: BTreeMap<u64, RequestId>,
    ended: Vec<RequestId>,
    /// By token: the width asked for, before any clipping.
    widths: Vec<u64>,
    /// How arrivals and cancellations were answered.
    refused: u64,
    removed: u64,
    /// Seats in use and concurrency limit before the event.
    before: (u64, u64),
    demand: DemandStats,
}

/// Takes every grant but some.
#[derive(Default)]
struct Answers {
    /// Whether time never steps back in this mode.
    forward: bool,
    /// Tokens whose caller has left without saying so.
    leaving: BTreeSet<u64>,
    granted: Vec<Grant>,
    all_grants: u64,
    gone: u64,
}

impl Sink for Answers {
    fn grant(&mut self, grant: Grant) -> Answer {
        assert!(!self.forward || grant.arrival <= grant.start, "a grant before its arrival");
        if self.leaving.remove(&grant.token) {
            self.gone += 1;
            return Answer::Gone(Cause::Caller);
        }
        self.all_grants += 1;
        self.granted.push(grant);
        Answer::Taken
    }
}

impl Host {
    fn new(level: Level) -> Self {
        let forward = level.mode() == Mode::Default;
        Self {
            level,
            now: 0,
            answers: Answers { forward, ..Answers::default() },
            live: BTreeMap::new(),
            ended: Vec::new(),
            widths: Vec::new(),
            refused: 0,
            removed: 0,
            before: (0, 0),
            demand: DemandStats::default(),
        }
    }

    fn event(&mut self, bytes: &mut Bytes<'_>) {
        self.answers.granted.clear();
        self.before = (self.level.seats_in_use(), self.level.concurrency_limit());
        self.pass_time(bytes);
        match bytes.below(16) {
            0..6 => self.arrive(bytes),
            6..10 => self.finish(bytes),
            10 | 11 => self.cancel(bytes),
            12 => self.level.tick(self.now, &mut self.answers),
            13 => self.reconfigure(bytes),
            14 => {
                let period = self.level.close_demand_period(self.now, &mut self.answers);
                self.demand.update(&period);
                let DemandStats { average, deviation, smoothed, .. } = self.demand;
                assert!(average.is_finite() && deviation.is_finite() && smoothed.is_finite(), "{period:?}");
            }
            _ => self.misuse(bytes),
        }
    }

    /// Mostly a little forward; sometimes not at all, far ahead, or back.
    fn pass_time(&mut self, bytes: &mut Bytes<'_>) {
        const DAY: u64 = 86_400_000_000_000;
        let step = bytes.byte();
        self.now = match step {
            0..32 => self.now,
            32..200 => self.now.saturating_add(u64::from(step) * 100_000),
            200..240 => self.now.saturating_add(u64::from(step) * 100_000_000),
            240..250 => self.now.saturating_add(u64::from(step) * DAY),
            _ => self.now.saturating_sub(u64::from(step) * 1_000_000),
        };
    }

    fn arrive(&mut self, bytes: &mut Bytes<'_>) {
        let token = self.widths.len() as u64;
        let shape = bytes.byte();
        let work = WorkEstimate {
            initial_seats: if shape == 255 { u64::from(shape) * 1000 } else { u64::from(shape % 4) + 1 },
            final_seats: if shape & 16 == 0 { 0 } else { bytes.below(8) },
            additional_latency: if shape & 32 == 0 { 0 } else { bytes.below(100) * 1_000_000 },
        };
        self.widths.push(work.max_seats());
        let flow_hash = if shape & 64 == 0 { u64::from(bytes.byte()) } else { bytes.word() };
        if shape & 128 != 0 {
            self.answers.leaving.insert(token);
        }
        let arrived = self.level.arrive(self.now, Arrival { flow_hash, work, token }, &mut self.answers);
        let granted = self.answers.granted.iter().any(|grant| grant.token == token);
        match arrived.expect("a valid estimate") {
            Arrived::Executing(id) => {
                assert!(granted, "an executing request was granted");
                self.live.insert(token, id);
            }
            Arrived::Waiting(id) => {
                assert!(!granted, "a waiting request was not granted");
                self.live.insert(token, id);
            }
            Arrived::Rejected(_) => {
                assert!(!granted, "a rejected request was not granted");
                self.answers.leaving.remove(&token);
                self.refused += 1;
            }
            Arrived::Gone => assert!(!self.answers.leaving.contains(&token), "it left at its own grant"),
        }
    }

    /// A live request of this state, by the byte.
    fn choose(&self, state: RequestState, bytes: &mut Bytes<'_>) -> Option<(u64, RequestId)> {
        let of_state = |id: &RequestId| self.level.request(*id).is_some_and(|view| view.state == state);
        let all: Vec<(u64, RequestId)> =
            self.live.iter().filter(|(_, id)| of_state(id)).map(|(token, id)| (*token, *id)).collect();
        if all.is_empty() { None } else { Some(bytes.pick(&all)) }
    }

    fn finish(&mut self, bytes: &mut Bytes<'_>) {
        let Some((token, id)) = self.choose(RequestState::Executing, bytes) else { return };
        let latency = self.level.request(id).map_or(0, |view| view.work.additional_latency);
        let finished = self.level.finish(self.now, id, &mut self.answers).expect("it executes");
        assert_eq!(
            finished.release_at.is_some(),
            latency > 0,
            "a request lingers when it has additional latency"
        );
        self.live.remove(&token);
        self.ended.push(id);
    }

    fn cancel(&mut self, bytes: &mut Bytes<'_>) {
        let Some((token, id)) = self.choose(RequestState::Waiting, bytes) else { return };
        let cause = bytes.pick(&[Cause::TimeOut, Cause::Caller]);
        match self.level.cancel(self.now, id, cause, &mut self.answers) {
            Ok(Cancelled::Removed(_)) => {
                self.live.remove(&token);
                self.answers.leaving.remove(&token);
                self.ended.push(id);
                self.removed += 1;
            }
            Ok(Cancelled::Executing) => {
                assert!(
                    self.answers.granted.iter().any(|grant| grant.token == token),
                    "a due release started it"
                );
            }
            Err(_) => assert!(!self.answers.leaving.contains(&token), "a due release let it go"),
        }
    }

    fn reconfigure(&mut self, bytes: &mut Bytes<'_>) {
        let (queuing, limit) = configuration(bytes);
        let before = (self.level.queuing(), self.level.concurrency_limit());
        if self.level.reconfigure(self.now, queuing, limit, &mut self.answers).is_err() {
            assert_eq!(
                before,
                (self.level.queuing(), self.level.concurrency_limit()),
                "a refusal changes nothing"
            );
        }
    }

    /// Handles that have ended, and estimates out of range, are refused.
    fn misuse(&mut self, bytes: &mut Bytes<'_>) {
        if !self.ended.is_empty() {
            let id = bytes.pick(&self.ended);
            assert!(
                self.level.finish(self.now, id, &mut self.answers).is_err(),
                "an ended request finishes again"
            );
            assert!(self.level.cancel(self.now, id, Cause::Caller, &mut self.answers).is_err());
        }
        let work = bytes.pick(&[
            WorkEstimate::seats(0),
            WorkEstimate::seats(u64::MAX),
            WorkEstimate { additional_latency: u64::MAX, ..WorkEstimate::seats(1) },
        ]);
        let arrival = Arrival { flow_hash: 0, work, token: u64::MAX };
        assert!(self.level.arrive(self.now, arrival, &mut self.answers).is_err(), "an estimate out of range");
    }

    fn check(&mut self) {
        // Requests whose grant was not taken are known by their absence alone.
        let level = &self.level;
        self.live.retain(|_, id| level.request(*id).is_some());
        self.check_sums();
        self.check_queues();
        self.check_seats();
        self.check_counters(self.level.counters());
        self.check_waiting();
    }

    fn check_sums(&self) {
        let level = &self.level;
        let (mut waiting, mut wanted, mut executing, mut held, mut due) = (0, 0, 0, 0, None);
        for view in level.requests() {
            match view.state {
                RequestState::Waiting => {
                    waiting += 1;
                    wanted += view.work.max_seats();
                }
                RequestState::Executing => executing += 1,
                RequestState::Lingering => due = due.into_iter().chain(view.release_at).min(),
            }
            if view.state != RequestState::Waiting {
                held += view.work.max_seats();
            }
            let known = self.live.get(&view.token) == Some(&view.id);
            assert!(known || view.state == RequestState::Lingering, "a request that nobody started");
        }
        assert_eq!(level.requests_waiting(), waiting, "requests waiting");
        assert_eq!(level.requests_executing(), executing, "requests executing");
        assert_eq!(level.seats_in_use(), held, "seats in use");
        assert_eq!(level.next_release(), due, "the next release");
        assert_eq!(self.live.len() as u64, waiting + executing, "live requests");
        assert_eq!(level.is_idle(), waiting + executing == 0);
        match level.mode() {
            Mode::Default => assert_eq!(level.seats_waiting(), wanted, "seats waiting"),
            // The reference keeps clipped widths in for ever.
            Mode::Exact => assert!(level.seats_waiting() >= wanted, "seats waiting"),
        }
    }

    fn check_queues(&self) {
        let level = &self.level;
        let mut waiting = 0;
        for queue in level.queues() {
            let (mut count, mut initial, mut widest, mut previous) = (0, 0, 0, None);
            for view in level.waiting(queue.index) {
                assert_eq!((view.queue, view.state), (Some(queue.index), RequestState::Waiting));
                assert!(previous < Some(view.token), "a queue is in the order of arrival");
                previous = Some(view.token);
                count += 1;
                initial += view.work.initial_seats;
                widest += view.work.max_seats();
            }
            assert_eq!(
                (queue.waiting, queue.initial_seats_sum, queue.max_seats_sum),
                (count, initial, widest)
            );
            let of_queue = || level.requests().filter(|view| view.queue == Some(queue.index));
            let executing = of_queue().filter(|view| view.state == RequestState::Executing).count() as u64;
            let held = of_queue().filter(|view| view.state != RequestState::Waiting);
            assert_eq!(queue.executing, executing, "executing of a queue");
            assert_eq!(
                queue.seats_in_use,
                held.map(|view| view.work.max_seats()).sum::<u64>(),
                "seats of a queue"
            );
            waiting += count;
        }
        assert_eq!(waiting, level.requests_waiting(), "every waiting request is in a queue");
        if let Queuing::Queue { queues, .. } = level.queuing() {
            assert!(level.queues().count() as u64 >= u64::from(queues), "as many queues as configured");
        }
        assert!(level.robin_index() >= -1 && level.robin_index() < level.queues().count().max(1) as i64);
    }

    /// Seats in use exceed the limit only where it was lowered, the level is exempt, or a request is too wide to ever fit.
    fn check_seats(&self) {
        let (before, limit_before) = self.before;
        let limit = self.level.concurrency_limit();
        let most = limit.max(limit_before);
        let exempt = self.level.queuing() == Queuing::Exempt;
        let too_wide = |token: u64| self.widths[token as usize] > limit.min(limit_before);
        let wide = self.answers.granted.iter().any(|grant| too_wide(grant.token));
        let seats = self.level.seats_in_use();
        assert!(
            seats <= most.max(before) || exempt || wide,
            "{seats} seats in use, {before} before, of {limit}"
        );
    }

    /// Every arrival is somewhere, and counted once.
    fn check_counters(&self, counters: Counters) {
        let rejected = counters.rejected_queue_full + counters.rejected_concurrency_limit;
        assert_eq!(rejected, self.refused, "rejections");
        assert_eq!(counters.dispatched, self.answers.all_grants, "dispatched");
        let departed = match self.level.mode() {
            Mode::Default => self.removed + self.answers.gone,
            // The reference counts a request that left at its own grant under no reason.
            Mode::Exact => self.removed,
        };
        assert_eq!(counters.timed_out + counters.cancelled, departed, "departures");
        let arrived = self.refused + counters.dispatched + self.removed + self.answers.gone;
        assert_eq!(
            self.widths.len() as u64,
            arrived + self.level.requests_waiting(),
            "every arrival is somewhere"
        );
        assert!(counters.failed_epoch_advances <= counters.epoch_advances);
    }

    /// In default mode nothing waits at an empty level that has seats.
    fn check_waiting(&self) {
        let level = &self.level;
        let could_run = level.seats_in_use() == 0 && level.concurrency_limit() > 0;
        assert!(
            level.mode() == Mode::Exact || !could_run || level.requests_waiting() == 0,
            "{} requests wait at an empty level of {} seats",
            level.requests_waiting(),
            level.concurrency_limit()
        );
    }
}
