//! Faults of the gate, each with the model that finds it.

/// One place of a fault.
pub(super) struct Edit {
    /// In the gate's folder.
    pub(super) file: &'static str,
    /// Found exactly once.
    pub(super) from: &'static str,
    /// What it becomes.
    pub(super) to: &'static str,
}

/// A fault.
pub(super) struct Mutation {
    pub(super) name: &'static str,
    /// The model that must find it.
    pub(super) model: &'static str,
    pub(super) edits: &'static [Edit],
}

/// First each ordering weakened in turn, then steps of the protocol left out or taken at the wrong time.
pub(super) const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "the role is taken relaxed",
        model: "seats::two_threads_share_one_seat",
        edits: &[Edit {
            file: "role.rs",
            from: "compare_exchange_weak(word.0, held.0, Ordering::Acquire, Ordering::Relaxed)",
            to: "compare_exchange_weak(word.0, held.0, Ordering::Relaxed, Ordering::Relaxed)",
        }],
    },
    Mutation {
        name: "hand-back relaxed",
        model: "seats::two_threads_share_one_seat",
        edits: &[
            Edit {
                file: "role.rs",
                from: ".compare_exchange(held.0, word.0, Ordering::Release, Ordering::Relaxed)",
                to: ".compare_exchange(held.0, word.0, Ordering::Relaxed, Ordering::Relaxed)",
            },
        ],
    },
    Mutation {
        name: "publication relaxed",
        model: "seats::two_threads_share_one_seat",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "            Ordering::Release
        };",
                to: "            Ordering::Relaxed
        };",
            },
        ],
    },
    Mutation {
        name: "publication with the role does not acquire",
        model: "hand_off::everything_published_is_applied",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "            Ordering::Acquire
        } else {",
                to: "            Ordering::Relaxed
        } else {",
            },
        ],
    },
    Mutation {
        name: "drain relaxed",
        model: "seats::two_threads_share_one_seat",
        edits: &[
            Edit {
                file: "role.rs",
                from: "self.word.fetch_and(!HEAD, Ordering::Acquire)",
                to: "self.word.fetch_and(!HEAD, Ordering::Relaxed)",
            },
        ],
    },
    Mutation {
        name: "hand-off relaxed",
        model: "hand_off::everything_published_is_applied",
        edits: &[
            Edit {
                file: "role.rs",
                from: "sees the core as it is now. HELD is set and OFFER is not, so this swaps them.
                    self.word.fetch_xor(HELD | OFFER, Ordering::Release);",
                to: "sees the core as it is now. HELD is set and OFFER is not, so this swaps them.
                    self.word.fetch_xor(HELD | OFFER, Ordering::Relaxed);",
            },
        ],
    },
    Mutation {
        name: "hand-off from a waker relaxed",
        model: "hand_off::wakers_may_use_the_gate",
        edits: &[
            Edit {
                file: "role.rs",
                from: "                });
                self.word.fetch_xor(HELD | OFFER, Ordering::Release);
                return;",
                to: "                });
                self.word.fetch_xor(HELD | OFFER, Ordering::Relaxed);
                return;",
            },
        ],
    },
    Mutation {
        name: "offer taken relaxed",
        model: "hand_off::wakers_may_use_the_gate",
        edits: &[
            Edit {
                file: "role.rs",
                from: "match self.word.compare_exchange_weak(now.0, word.0, Ordering::Acquire, Ordering::Relaxed) {",
                to: "match self.word.compare_exchange_weak(now.0, word.0, Ordering::Relaxed, Ordering::Relaxed) {",
            },
        ],
    },
    Mutation {
        name: "grant does not release",
        model: "seats::clipped_seats_are_seen_by_whoever_sees_the_grant",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(GRANTED, Ordering::AcqRel)",
                to: "self.state.fetch_or(GRANTED, Ordering::Acquire)",
            },
        ],
    },
    Mutation {
        name: "grant does not acquire",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(GRANTED, Ordering::AcqRel)",
                to: "self.state.fetch_or(GRANTED, Ordering::Release)",
            },
        ],
    },
    Mutation {
        name: "decision read relaxed",
        model: "seats::clipped_seats_are_seen_by_whoever_sees_the_grant",
        edits: &[
            Edit {
                file: "node.rs",
                from: "decode(self.state.load(Ordering::Acquire))",
                to: "decode(self.state.load(Ordering::Relaxed))",
            },
        ],
    },
    Mutation {
        name: "leaving a waker does not release it",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(WAKER, Ordering::Release)",
                to: "self.state.fetch_or(WAKER, Ordering::Relaxed)",
            },
        ],
    },
    Mutation {
        name: "refusal does not release",
        model: "nodes::a_refused_node_is_used_again",
        edits: &[
            Edit {
                file: "node.rs",
                from: "                state | bits | done,
                Ordering::AcqRel,",
                to: "                state | bits | done,
                Ordering::Acquire,",
            },
        ],
    },
    Mutation {
        name: "refusal does not acquire",
        model: "wakers::a_waker_is_left_while_its_request_is_refused",
        edits: &[
            Edit {
                file: "node.rs",
                from: "                state | bits | done,
                Ordering::AcqRel,",
                to: "                state | bits | done,
                Ordering::Release,",
            },
        ],
    },
    Mutation {
        name: "the owner is done without acquiring",
        model: "nodes::a_refused_node_and_its_waker_slot_are_used_again",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(OWNER_DONE, Ordering::AcqRel)",
                to: "self.state.fetch_or(OWNER_DONE, Ordering::Release)",
            },
        ],
    },
    Mutation {
        name: "the owner is done without releasing",
        model: "controls::a_control_operation_is_looked_at_and_forgotten",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(OWNER_DONE, Ordering::AcqRel)",
                to: "self.state.fetch_or(OWNER_DONE, Ordering::Acquire)",
            },
        ],
    },
    Mutation {
        name: "the holder is done without releasing",
        model: "nodes::a_refused_node_and_its_waker_slot_are_used_again",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(HOLDER_DONE, Ordering::AcqRel)",
                to: "self.state.fetch_or(HOLDER_DONE, Ordering::Acquire)",
            },
        ],
    },
    Mutation {
        name: "the holder is done without acquiring",
        model: "controls::a_control_operation_is_looked_at_and_forgotten",
        edits: &[
            Edit {
                file: "node.rs",
                from: "self.state.fetch_or(HOLDER_DONE, Ordering::AcqRel)",
                to: "self.state.fetch_or(HOLDER_DONE, Ordering::Release)",
            },
        ],
    },
    Mutation {
        name: "a node is taken without acquiring",
        model: "nodes::a_node_is_used_again_at_once",
        edits: &[
            Edit {
                file: "slab.rs",
                from: "let mut free = load_to_exchange(&self.free, Ordering::Acquire);",
                to: "let mut free = load_to_exchange(&self.free, Ordering::Relaxed);",
            },
        ],
    },
    Mutation {
        name: "a node is taken without acquiring, after a failure",
        model: "nodes::a_node_is_used_again_at_once",
        edits: &[
            Edit {
                file: "slab.rs",
                from: "                Ordering::Relaxed,
                Ordering::Acquire,
            ) {",
                to: "                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {",
            },
        ],
    },
    Mutation {
        name: "a node is taken without acquiring, after growing",
        model: "nodes::nodes_are_taken_and_made_by_three",
        edits: &[
            Edit {
                file: "slab.rs",
                from: "                free = load_to_exchange(&self.free, Ordering::Acquire);",
                to: "                free = load_to_exchange(&self.free, Ordering::Relaxed);",
            },
        ],
    },
    Mutation {
        name: "a node is given back without releasing",
        model: "nodes::a_node_is_used_again_at_once",
        edits: &[
            Edit {
                file: "slab.rs",
                from: "                Ordering::Release,
                Ordering::Relaxed,
            ) {",
                to: "                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {",
            },
        ],
    },
    Mutation {
        name: "CLOSED ignored",
        model: "seats::three_threads_of_unequal_widths_share_two_seats",
        edits: &[
            Edit {
                file: "word.rs",
                from: "!self.has(CLOSED) && self.avail() >= seats",
                to: "self.avail() >= seats",
            },
        ],
    },
    Mutation {
        name: "a control operation does not close",
        model: "controls::the_limit_falls_while_requests_start",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "let next = word.with(closed);",
                to: "let next = word;",
            },
        ],
    },
    Mutation {
        name: "opened while somebody waits",
        model: "seats::three_threads_of_unequal_widths_share_two_seats",
        edits: &[
            Edit {
                file: "role.rs",
                from: "waiting || (free.is_none() && !exempt)",
                to: "(free.is_none() && !exempt)",
            },
        ],
    },
    Mutation {
        name: "seats that linger are given back at the finish",
        model: "seats::delayed_releases_are_not_counted_before_they_are_due",
        edits: &[
            Edit {
                file: "node.rs",
                from: "if work.additional_latency == 0 { work.max_seats() } else { 0 }",
                to: "work.max_seats()",
            },
        ],
    },
    Mutation {
        name: "the remainder is dropped at a hand-off",
        model: "hand_off::everything_published_is_applied",
        edits: &[
            Edit {
                file: "role.rs",
                from: "self.in_role(|core| core.left_over = cell);
                return Next::HandOff;",
                to: "return Next::HandOff;",
            },
        ],
    },
    Mutation {
        name: "applied directly while the role is on offer",
        model: "hand_off::everything_published_is_applied",
        edits: &[
            Edit {
                file: "word.rs",
                from: "!self.has(HELD | OFFER) && self.head() == 0",
                to: "!self.has(HELD) && self.head() == 0",
            },
        ],
    },
    Mutation {
        name: "newest first",
        model: "hand_off::everything_published_is_applied",
        edits: &[
            Edit {
                file: "role.rs",
                from: "            let next = cell.next.load(Ordering::Relaxed);
            cell.next.store(oldest, Ordering::Relaxed);
            oldest = newest;
            newest = next;
        }
        oldest",
                to: "            let next = cell.next.load(Ordering::Relaxed);
            let _ = (&mut newest, &mut oldest, next);
            break;
        }
        newest",
            },
        ],
    },
    Mutation {
        name: "waker taken after the hand-back (correction 1)",
        model: "wakers::one_release_wakes_two",
        edits: &[
            Edit {
                file: "node.rs",
                from: "Ok(if before & WAKER != 0 { self.take_waker() } else { None })",
                to: "Ok(None)",
            },
            Edit {
                file: "node.rs",
                from: "    fn take_waker(&self)",
                to: "    pub(super) fn take_waker(&self)",
            },
            Edit {
                file: "role.rs",
                from: "    len: usize,
}",
                to: "    len: usize,
    late: alloc::vec::Vec<u32>,
}",
            },
            Edit {
                file: "role.rs",
                from: "Self { wakers: [const { MaybeUninit::uninit() }; WAKES], len: 0 }",
                to: "Self { wakers: [const { MaybeUninit::uninit() }; WAKES], len: 0, late: alloc::vec::Vec::new() }",
            },
            Edit {
                file: "role.rs",
                from: "            Ok(waker) => {
                self.keep(waker);",
                to: "            Ok(waker) => {
                self.wakes.late.push(grant.token as u32);
                self.keep(waker);",
            },
            Edit {
                file: "role.rs",
                from: "        if wakes.len == 0 && alarm.is_none() {
            return;
        }",
                to: "        for index in core::mem::take(&mut wakes.late) {
            if let Some(waker) = self.slab.get(index).and_then(Node::take_waker) {
                waker.wake();
            }
        }
        if wakes.len == 0 && alarm.is_none() {
            return;
        }",
            },
        ],
    },
    Mutation {
        name: "a cancel that loses is a grant (correction 2)",
        model: "cancels::a_cancel_races_with_the_refusal",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "                self.forget(ticket);
                Withdrawn::Refused(reason)
            }
        }
    }",
                to: "                let _ = reason;
                Withdrawn::Running(ticket)
            }
        }
    }",
            },
        ],
    },
    Mutation {
        name: "clipped seats are not written back (correction 3)",
        model: "seats::clipped_seats_come_back_as_clipped",
        edits: &[
            Edit {
                file: "role.rs",
                from: "node.trim(grant.final_seats, grant.additional_latency);",
                to: "let _ = Node::trim;",
            },
        ],
    },
    Mutation {
        name: "grant by an exchange that a waker makes fail (correction 7)",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "        let before = self.state.fetch_or(GRANTED, Ordering::AcqRel);
",
                to: "        let before = self.state.load(Ordering::Acquire);
        let granted = self.state.compare_exchange(before, before | GRANTED, Ordering::AcqRel, Ordering::Acquire);
        if granted.is_err() {
            return Err(Cause::Caller);
        }
",
            },
        ],
    },
    Mutation {
        name: "abandonment by an exchange that loses to nothing (correction 7)",
        model: "cancels::a_cancel_races_with_the_grant",
        edits: &[
            Edit {
                file: "node.rs",
                from: "let before = self.state.fetch_or(ABANDONED | by_caller, Ordering::Relaxed);",
                to: "let before = self.state.load(Ordering::Acquire);
        self.state.store(before | ABANDONED | by_caller, Ordering::Release);",
            },
        ],
    },
    Mutation {
        name: "a request's node is given back before it was applied",
        model: "nodes::a_node_is_used_again_at_once",
        edits: &[
            Edit {
                file: "role.rs",
                from: "        core.free(&self.slab, index);
    }",
                to: "    }",
            },
            Edit {
                file: "mod.rs",
                from: "self.apply_end(index, node, Kind::Finish, now, &mut wakes);",
                to: "self.apply_end(index, node, Kind::Finish, now, &mut wakes);
        self.slab.give(index);",
            },
            Edit {
                file: "mod.rs",
                from: "self.apply_end(index, node, kind, now, &mut wakes);",
                to: "self.apply_end(index, node, kind, now, &mut wakes);
                        self.slab.give(index);",
            },
            Edit {
                file: "mod.rs",
                from: "match self.publish(word, next, index, node, 1, kind, now) {
                Ok(took_role) => {",
                to: "match self.publish(word, next, index, node, 1, kind, now) {
                Ok(took_role) => {
                    self.slab.give(index);",
            },
        ],
    },
    Mutation {
        name: "a tick's node is given back before it was applied",
        model: "nodes::nodes_are_taken_and_made_by_three",
        edits: &[
            Edit {
                file: "role.rs",
                from: "        core.free(&self.slab, index);
    }",
                to: "        if kind != Kind::Tick {
            core.free(&self.slab, index);
        }
    }",
            },
            Edit {
                file: "mod.rs",
                from: "self.apply_end(index, node, kind, now, &mut wakes);",
                to: "self.apply_end(index, node, kind, now, &mut wakes);
                        if kind == Kind::Tick {
                            self.slab.give(index);
                        }",
            },
            Edit {
                file: "mod.rs",
                from: "match self.publish(word, next, index, node, 1, kind, now) {
                Ok(took_role) => {",
                to: "match self.publish(word, next, index, node, 1, kind, now) {
                Ok(took_role) => {
                    if kind == Kind::Tick {
                        self.slab.give(index);
                    }",
            },
        ],
    },
    Mutation {
        name: "WAKER cleared late",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "        if state & WAKER != 0 {
            // Whoever",
                to: "        if false {
            // Whoever",
            },
        ],
    },
    Mutation {
        name: "wakers beyond one hold are forgotten",
        model: "wakers::one_release_wakes_two",
        edits: &[
            Edit {
                file: "role.rs",
                from: "            self.to_wake.push_back(waker);
        }
    }
}",
                to: "            drop(waker);
        }
    }
}",
            },
        ],
    },
    Mutation {
        name: "a decision in the middle of leaving a waker is missed",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "        let decision = decode(before)?;
        drop(self.take_waker()); // decided",
                to: "        let decision = decode(before & ABANDONED)?;
        drop(self.take_waker()); // decided",
            },
        ],
    },
    Mutation {
        name: "RETIRED while something is published",
        model: "controls::a_level_that_is_wanted_again_stays_or_says_that_it_is_gone",
        edits: &[
            Edit {
                file: "role.rs",
                from: "if now.head() != 0 {",
                to: "if now.head() != 0 && !retired {",
            },
        ],
    },
    Mutation {
        name: "RETIRED before the level is idle",
        model: "controls::a_level_is_retired_when_its_last_request_has_gone",
        edits: &[
            Edit {
                file: "role.rs",
                from: "core.quiescing && level.is_idle(),",
                to: "core.quiescing,",
            },
        ],
    },
    Mutation {
        name: "a start overlooks RETIRED",
        model: "controls::a_level_is_retired_when_its_last_request_has_gone",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "            if word.has(RETIRED) {
                self.give_back(taken);
                return Started::Retired;
            }",
                to: "",
            },
        ],
    },
    Mutation {
        name: "the state of a failed exchange is kept",
        model: "seats::a_start_that_does_not_fit_any_more_waits",
        edits: &[
            Edit {
                file: "mod.rs",
                from: "node.set_unpublished(fits);",
                to: "if fits {
                node.set_unpublished(fits);
            }",
            },
        ],
    },
    Mutation {
        name: "a start that fits takes no seats off the word",
        model: "seats::two_threads_share_one_seat",
        edits: &[
            Edit {
                file: "word.rs",
                from: "Self(self.0 - (seats << AVAIL_SHIFT)) } else",
                to: "self } else",
            },
        ],
    },
    Mutation {
        name: "the holder is done before it has taken the waker",
        model: "nodes::a_refused_node_and_its_waker_slot_are_used_again",
        edits: &[
            Edit {
                file: "node.rs",
                from: "let done = if state & WAKER == 0 { HOLDER_DONE } else { 0 };",
                to: "let done = HOLDER_DONE;",
            },
        ],
    },
    Mutation {
        name: "an abandoned request is refused as well",
        model: "cancels::a_cancel_races_with_the_refusal",
        edits: &[
            Edit {
                file: "node.rs",
                from: "                return (None, false); // its cancellation is on the way and frees it
",
                to: "                return (None, true);
",
            },
        ],
    },
    Mutation {
        name: "an owner that was done first is overlooked",
        model: "controls::a_limit_that_rises_wakes_who_waits",
        edits: &[
            Edit {
                file: "node.rs",
                from: "return (None, state & OWNER_DONE != 0); // the owner",
                to: "return (None, false); // the owner",
            },
        ],
    },
    Mutation {
        name: "the pool does not count",
        model: "nodes::the_pool_knows_a_node_that_came_back",
        edits: &[
            Edit {
                file: "slab.rs",
                from: "(free & !INDEX).wrapping_add(1 << 32) | first as u64",
                to: "free & !INDEX | first as u64",
            },
        ],
    },
    Mutation {
        name: "an owner takes a decided waker",
        model: "wakers::a_waker_is_replaced_while_the_grant_comes",
        edits: &[
            Edit {
                file: "node.rs",
                from: "            if let Some(decision) = decode(before) {
                return Some(decision); // the holder has taken the waker, or is about to
            }",
                to: "let _ = before;",
            },
        ],
    },
    Mutation {
        name: "a quiet start leaves its seats in the word",
        model: "seats::two_threads_share_one_seat",
        edits: &[Edit {
            file: "quiet.rs",
            from: "self.take_role(word, word.started(seats))",
            to: "self.take_role(word, word)",
        }],
    },
    Mutation {
        name: "a quiet start leaves the node for the next one too",
        model: "nodes::a_node_is_used_again_at_once",
        edits: &[Edit { file: "quiet.rs", from: "            core.take_spare();\n", to: "" }],
    },
    Mutation {
        name: "a quiet hand-back does not look at what was published",
        model: "seats::two_threads_share_one_seat",
        edits: &[Edit {
            file: "quiet.rs",
            from: "at_rest.is_some_and(|word| self.give_role_back(held, word))",
            to: "at_rest.is_some_and(|word| {
            self.word.store(word.0, Ordering::Release);
            true
        })",
        }],
    },
    Mutation {
        name: "a quiet end does not retire a level that quiesces",
        model: "controls::a_level_is_retired_when_its_last_request_has_gone",
        edits: &[Edit { file: "quiet.rs", from: "if self.quiescing {", to: "if false {" }],
    },
    Mutation {
        name: "a look closes the level",
        model: "controls::a_look_makes_nobody_wait",
        edits: &[Edit {
            file: "mod.rs",
            from: "self.operate(now, Box::new(operation), 0)",
            to: "self.operate(now, Box::new(operation), CLOSED)",
        }],
    },
];
