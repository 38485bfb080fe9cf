//! Measures the simulator: requests a second of one saturated level with 64 queues, on one core.
//!
//! `cargo run --release -p apf-sim --example saturated -- [REQUESTS] [exact]`

#![allow(clippy::print_stdout, reason = "an example that prints its result")]

use std::time::Instant;

use apf_core::Mode;
use apf_sim::saturation;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let requests = arguments.first().map_or(Ok(5_000_000), |text| text.parse())?;
    let mode = if arguments.get(1).is_some_and(|text| text == "exact") { Mode::Exact } else { Mode::Default };
    let start = Instant::now();
    let outcome = saturation::run(requests, mode)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{outcome:?}");
    println!("{:.0} requests a second: {requests} in {seconds:.3} s", requests as f64 / seconds);
    Ok(())
}
