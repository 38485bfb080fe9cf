//! A classification that is kept, for requests that come again and again.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use crate::engine::Flow;

/// Where the requests of one description went the last time, and under which configuration of which dispatcher: while
/// that one is in force, they need not be classified again. It belongs to one set of attributes; give it to each
/// [`Request`](crate::Request) with these, and to no other. Any number of threads may use it at once.
#[derive(Debug, Default)]
pub struct Classified {
    /// How often it has been written, twice over; odd while it is being written. (The generation would not tell a reader
    /// that it was written twice meanwhile, for two dispatchers may take turns.)
    written: AtomicU64,
    /// The generation that the rest belongs to; 0 for none.
    generation: AtomicU64,
    level: AtomicU64,
    schema: AtomicU64,
    flow_hash: AtomicU64,
}

impl Classified {
    /// Nothing kept yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The flow and its hash under the configuration `generation`, which is never 0.
    pub(crate) fn get(&self, generation: u64) -> Option<(Flow, u64)> {
        // Pairs with the writer's release: what it wrote before is seen.
        let written = self.written.load(Ordering::Acquire);
        if !written.is_multiple_of(2) || self.generation.load(Ordering::Relaxed) != generation {
            return None;
        }
        let level = self.level.load(Ordering::Relaxed) as usize;
        let schema = self.schema.load(Ordering::Relaxed) as usize;
        let flow_hash = self.flow_hash.load(Ordering::Relaxed);
        // Pairs with the writer's: whoever has read a part of a later write sees that write's beginning below.
        fence(Ordering::Acquire);
        let unchanged = self.written.load(Ordering::Relaxed) == written;
        unchanged.then_some((Flow { level, schema }, flow_hash))
    }

    /// Keeps a classification, unless another thread is at it.
    pub(crate) fn set(&self, generation: u64, flow: Flow, flow_hash: u64) {
        let written = self.written.load(Ordering::Relaxed);
        // Acquire: pairs with the last writer's release, so that the two do not mix.
        let begun = written.is_multiple_of(2)
            && self
                .written
                .compare_exchange(written, written.wrapping_add(1), Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if !begun {
            return;
        }
        fence(Ordering::Release);
        self.generation.store(generation, Ordering::Relaxed);
        self.level.store(flow.level as u64, Ordering::Relaxed);
        self.schema.store(flow.schema as u64, Ordering::Relaxed);
        self.flow_hash.store(flow_hash, Ordering::Relaxed);
        self.written.store(written.wrapping_add(2), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    /// Ends the writers also when the reader panics.
    struct Over<'a>(&'a AtomicBool);

    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_classification_is_read_whole_or_not_at_all() {
        let (kept, over) = (Classified::new(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _over = Over(&over);
            for writer in 1..=2 {
                let (kept, over) = (&kept, &over);
                scope.spawn(move || {
                    let mut generation = writer;
                    while !over.load(Ordering::Relaxed) {
                        let flow = Flow { level: generation as usize, schema: generation as usize };
                        kept.set(generation, flow, generation);
                        generation = generation % 6 + 1;
                    }
                });
            }
            let mut seen = 0;
            while seen < 1_000_000 {
                let generation = kept.generation.load(Ordering::Relaxed);
                if (1..=6).contains(&generation)
                    && let Some((flow, hash)) = kept.get(generation)
                {
                    seen += 1;
                    let read = (flow.level as u64, flow.schema as u64, hash);
                    assert_eq!(read, (generation, generation, generation));
                }
            }
        });
    }
}
