//! The most frequent way through the gate: nobody is in the role, nothing waits, the request fits.
//!
//! Then the role is taken and handed back by one exchange each, and what lies between them cannot grant, wake or refuse
//! anybody else. It does nothing that the general way does not do, with less to look at; wherever something is not as it
//! expects, the general way goes on from there.

#![allow(unsafe_code, reason = "the core is followed only in the role")]

use apf_core::{Arrival, Queuing};

use super::fault::{Point, reached};
#[cfg(feature = "history")]
use super::history::{Entry, Outcome};
use super::node::{Decision, Node, Request};
use super::role::{Core, Wakes};
use super::word::Word;
use super::{Gate, Ticket};
use crate::sync::{Ordering, load_to_exchange};

/// How far the quiet way has led.
pub(super) enum Way {
    /// To the end: the request runs.
    Runs(Ticket),
    /// Into the role, where something is not quiet; the request has its seats by the word, and nothing else has changed.
    InRole,
    /// Nowhere: somebody is in the role, or the request does not fit. Nothing has changed.
    Blocked,
}

impl Gate {
    /// A valid request starts.
    #[inline(always)]
    pub(super) fn start_quietly(&self, now: u64, request: &Request) -> Way {
        let word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        let seats = request.work.max_seats();
        if !word.is_quiet() || !word.fits(seats) {
            return Way::Blocked;
        }
        reached(Point::Attempt);
        let Ok(held) = self.take_role(word, word.started(seats)) else { return Way::Blocked };
        let started = self.with_role(|core| {
            let stamp = core.passes(now);
            let (index, node) = core.spare(&self.slab)?;
            let Request { flow_hash, work } = *request;
            let arrival = Arrival { flow_hash, work, token: u64::from(index) };
            let id = core.level.arrive_quietly(stamp, arrival)?;
            core.take_spare();
            node.prepare_running(request, id);
            #[cfg(feature = "history")]
            {
                core.history.begin(Entry::Start {
                    now: stamp,
                    token: arrival.token,
                    request: *request,
                    granted: true,
                });
                core.history.granted(arrival.token, None);
                core.history.end(Outcome::Executing);
            }
            // It has queues, so it has a limit.
            Some((index, core.word_at_rest::<true>()))
        });
        let Some((index, at_rest)) = started else { return Way::InRole };
        self.leave_role_quietly(held, at_rest);
        Way::Runs(self.ticket(index))
    }

    /// A running request has been served. `false`, with nothing changed, if somebody is in the role or it is not running.
    #[inline(always)]
    pub(super) fn finish_quietly(&self, now: u64, ticket: &Ticket) -> bool {
        let Some((index, node)) = self.node_of(ticket) else { return true };
        let word = Word(load_to_exchange(&self.word, Ordering::Relaxed));
        if !word.is_quiet() || node.decision() != Some(Decision::Granted) {
            return false;
        }
        reached(Point::Attempt);
        let Ok(held) = self.take_role(word, word.released(node.seats_at_end())) else { return false };
        let at_rest = self.with_role(|core| {
            let stamp = core.passes(now);
            let id = node.in_core(|notes| notes.id)?;
            if !core.level.finish_quietly(stamp, id) {
                return None;
            }
            #[cfg(feature = "history")]
            core.history.begin(Entry::Finish { now: stamp, token: u64::from(index) });
            core.free(&self.slab, index);
            Some(core.word_at_rest::<false>())
        });
        match at_rest {
            Some(at_rest) => self.leave_role_quietly(held, at_rest),
            None => self.finish_in_role(now, index, node),
        }
        true
    }

    /// Runs `f` on the core, in line.
    #[inline(always)]
    fn with_role<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        let core = self.core.get_mut();
        // SAFETY: as for `in_role`.
        f(unsafe { core.deref() })
    }

    /// Out of the role, if nothing has been published and nothing is left; `at_rest` is what the word is then.
    #[inline(always)]
    fn leave_role_quietly(&self, held: Word, at_rest: Option<Word>) {
        reached(Point::HandBack);
        if at_rest.is_some_and(|word| self.give_role_back(held, word)) {
            reached(Point::HandedBack);
        } else {
            self.leave_role(&mut Wakes::new());
        }
    }
}

impl Core {
    /// The node that the next start in the role gets, if one is kept.
    #[inline(always)]
    fn spare<'a>(&self, slab: &'a super::slab::Slab) -> Option<(u32, &'a Node)> {
        let index = self.spare.checked_sub(1)?;
        Some((index, slab.get(index)?))
    }

    #[inline(always)]
    const fn take_spare(&mut self) {
        self.spare = 0;
    }

    /// The word of a level in which nothing else is left to do than to retire it; `None` then.
    ///
    /// For a holder that found the word quiet and the core too: no cell is left over, no waker, and nobody waits.
    #[inline(always)]
    fn word_at_rest<const LIMITED: bool>(&self) -> Option<Word> {
        debug_assert!(self.left_over == 0 && self.to_wake.is_empty(), "the word was quiet, but work is left");
        debug_assert!(self.level.requests_waiting() == 0, "the core was quiet, but somebody waits");
        if self.quiescing {
            return None;
        }
        let free = match self.level.queuing() {
            Queuing::Exempt if !LIMITED => u64::MAX,
            _ => self.level.concurrency_limit().checked_sub(self.level.seats_in_use() + self.uncounted)?,
        };
        Some(Word(0).with_avail(free))
    }
}
