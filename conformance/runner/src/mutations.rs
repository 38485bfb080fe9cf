//! The faults that the conformance check must find, of different kinds.

/// A text replacement in one file of the core.
#[derive(Debug, Clone, Copy)]
pub struct Mutation {
    /// What the fault is.
    pub name: &'static str,
    /// File, from the core's `src` folder.
    pub file: &'static str,
    /// Text that occurs exactly once in it.
    pub from: &'static str,
    /// What it becomes.
    pub to: &'static str,
}

/// All of them.
pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "the anti-windup bound is dropped",
        file: "discipline/fair_queuing.rs",
        from: "if *queue < head.tag {",
        to: "if *queue < head.tag && false {",
    },
    Mutation {
        name: "the round robin does not move on",
        file: "discipline/fair_queuing.rs",
        from: "self.search_start = place.saturating_add(1);",
        to: "let _ = place;",
    },
    Mutation {
        name: "ties go to the lowest queue index",
        file: "discipline/fair_queuing.rs",
        from: "self.finishes.first_smallest(self.search_start)",
        to: "self.finishes.first_smallest(0)",
    },
    Mutation {
        name: "a blocked walk leaves the robin index at -1",
        file: "discipline/fair_queuing.rs",
        from: "if self.search_start <= first {",
        to: "if self.search_start <= first && places == 0 {",
    },
    Mutation {
        name: "an epoch advances an inactive queue instead of resetting it",
        file: "discipline/fair_queuing.rs",
        from: "*queue = SeatSeconds::ZERO;",
        to: "wind_back(queue);",
    },
    Mutation {
        name: "an epoch forgets the arrivals of the waiting requests",
        file: "level/mod.rs",
        from: "success &= self.discipline.wind_back_request(&mut request.tag);",
        to: "success &= self.discipline.wind_back_request(&mut request.tag.clone());",
    },
    Mutation {
        name: "final seats are not clipped to the limit",
        file: "level/dispatch.rs",
        from: "work.trim_to(self.concurrency_limit);",
        to: "",
    },
    Mutation {
        name: "the guessed service time is 4 ms",
        file: "work.rs",
        from: "GUESSED_SERVICE_TIME: i64 = 3_000_000;",
        to: "GUESSED_SERVICE_TIME: i64 = 4_000_000;",
    },
    Mutation {
        name: "a delayed release lets nothing start",
        file: "level/finish.rs",
        from: "self.dispatch(due, sink);",
        to: "",
    },
    Mutation {
        name: "the hand's queue with the fewest seats waiting is chosen",
        file: "level/arrive.rs",
        from: "if queue.total_work < least {\n                least = queue.total_work;",
        to: "if SeatSeconds::from_raw(queue.max_seats) < least {\n                least = SeatSeconds::from_raw(queue.max_seats);",
    },
    Mutation {
        name: "halves are rounded down",
        file: "rounding.rs",
        from: "if fraction >= 0.5 {",
        to: "if fraction > 0.5 {",
    },
    Mutation {
        name: "clipped seats are taken out of the seats waiting in full",
        file: "level/dispatch.rs",
        from: "let counted = if exact { seats } else { counted_as_waiting };",
        to: "let counted = counted_as_waiting;",
    },
    Mutation {
        name: "a queue is full whether seats are free or not",
        file: "level/arrive.rs",
        from: "if self.seats_in_use >= self.concurrency_limit && queue.waiting",
        to: "if queue.waiting",
    },
    Mutation {
        name: "a request wider than the limit waits for lingering seats too",
        file: "level/mod.rs",
        from: "_ if seats > self.concurrency_limit => self.requests_executing == 0,",
        to: "_ if seats > self.concurrency_limit => self.seats_in_use == 0,",
    },
    Mutation {
        name: "a refusal leaves the hand's rotation where it was",
        file: "level/arrive.rs",
        from: "self.counters.rejected_queue_full = ",
        to: "self.hand_start = self.hand_start.saturating_sub(1);\n            self.counters.rejected_queue_full = ",
    },
    Mutation {
        name: "a removed queue's lingering seats keep counting in the meter's rate",
        file: "level/finish.rs",
        from: "self.seats_requested = self.seats_requested.wrapping_sub(left);",
        to: "let _ = left;",
    },
    Mutation {
        name: "a cancelled head's successor is not bounded",
        file: "level/cancel.rs",
        from: "self.settle(arena_index);",
        to: "if !self.mode.is_exact() {\n            self.settle(arena_index);\n        }",
    },
    Mutation {
        name: "the high watermark starts a period at zero",
        file: "demand.rs",
        from: "high: self.value, ..Self::new(now)",
        to: "..Self::new(now)",
    },
];
