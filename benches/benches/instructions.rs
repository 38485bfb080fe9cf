//! Instructions per request, counted by callgrind: repeatable on a busy machine.
//!
//! Each function repeats its work [`TIMES`] times; `cargo xtask bench` divides.

#![allow(missing_docs, unused_qualifications, reason = "the macros generate such items")]

use apf_benches::classification::Classification;
use apf_benches::dispatch::{Full, Idle, Impatient, Saturated};
use apf_benches::limits::{Hands, Server};
use gungraun::{library_benchmark, library_benchmark_group, main};
use std::hint::black_box;

const TIMES: usize = 1000;

macro_rules! per_queues {
    ($name:ident, $work:ty) => {
        #[library_benchmark]
        #[bench::q64(args = (64), setup = <$work>::new)]
        #[bench::q128(args = (128), setup = <$work>::new)]
        #[bench::q1024(args = (1024), setup = <$work>::new)]
        #[bench::q4096(args = (4096), setup = <$work>::new)]
        fn $name(mut work: $work) -> $work {
            for _ in 0..TIMES {
                black_box(black_box(&mut work).cycle());
            }
            work
        }
    };
}

per_queues!(idle, Idle);
per_queues!(saturated, Saturated);
per_queues!(rejected, Full);
per_queues!(cancelled, Impatient);
per_queues!(deal, Hands);

#[library_benchmark]
#[bench::schemas10(args = (10), setup = Classification::new)]
#[bench::schemas100(args = (100), setup = Classification::new)]
#[bench::schemas1000(args = (1000), setup = Classification::new)]
fn classify(mut work: Classification) -> Classification {
    for _ in 0..TIMES {
        black_box(black_box(&mut work).cycle());
    }
    work
}

#[library_benchmark]
#[bench::levels8(args = (8), setup = Server::new)]
#[bench::levels100(args = (100), setup = Server::new)]
fn adjust(mut work: Server) -> Server {
    for _ in 0..TIMES {
        black_box(black_box(&mut work).cycle());
    }
    work
}

library_benchmark_group!(
    name = per_request;
    benchmarks = idle, saturated, rejected, cancelled, deal, classify, adjust
);
main!(library_benchmark_groups = per_request);
