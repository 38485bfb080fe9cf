//! What being scraped costs: admission while the metrics are read beside admission that nobody reads.
//!
//! Slices of a tenth of a second alternate, and the median of their ratios is printed, for a machine that has other work too.
//! One reading a slice is ten times what a scraper does that comes every second.
//! `cargo run --release -p apf-exposition --example scraping -- [PAIRS] [READINGS A SLICE]`

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use apf::{Dispatcher, RequestAttributes};

const SLICE: Duration = Duration::from_millis(100);

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>().ok().filter(|n| *n > 0));
    let pairs = arguments.next().flatten().unwrap_or(100);
    let readings = arguments.next().flatten().unwrap_or(1);
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let Ok(dispatcher) = Dispatcher::builder().build() else { return };
    let (over, admitted) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| admit(&dispatcher, &over, &admitted));
        }
        let (mut ratios, mut text) = (Vec::new(), String::new());
        for pair in 0..pairs {
            let nobody = || thread::sleep(SLICE);
            let before = slice(&admitted, nobody);
            let read = slice(&admitted, || {
                for _ in 0..readings {
                    text = apf_exposition::prometheus(&dispatcher);
                    thread::sleep(SLICE / readings);
                }
            });
            // Between two, so that what changes steadily cancels out.
            let alone = f64::midpoint(before, slice(&admitted, nobody));
            if pair % 10 == 0 {
                println!("{alone:.0} a second alone, {read:.0} read");
            }
            ratios.push(read / alone);
        }
        let begun = Instant::now();
        let reads = 1000;
        for _ in 0..reads {
            text = apf_exposition::prometheus(&dispatcher);
        }
        let one = begun.elapsed() / reads;
        over.store(true, Ordering::Relaxed);
        ratios.sort_by(f64::total_cmp);
        let median = ratios.get(ratios.len() / 2).copied().unwrap_or(1.0);
        println!("{threads} threads, {readings} readings in {SLICE:?}: {median:.4} of what they admit alone");
        println!("one reading: {one:?}, {} bytes", text.len());
    });
}

/// Requests a second while `what` goes on.
fn slice(admitted: &AtomicU64, what: impl FnOnce()) -> f64 {
    let (begun, before) = (Instant::now(), admitted.load(Ordering::Relaxed));
    what();
    (admitted.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64()
}

/// Requests that start at once and end, without a pause.
fn admit(dispatcher: &Dispatcher, over: &AtomicBool, admitted: &AtomicU64) {
    const BATCH: u64 = 256;
    let list = RequestAttributes::resource("list", "pods").by("alice", &["system:authenticated"][..]);
    while !over.load(Ordering::Relaxed) {
        let done = (0..BATCH).filter(|_| dispatcher.try_admit(list).is_ok()).count();
        admitted.fetch_add(done as u64, Ordering::Relaxed);
    }
}
