//! One thread, one request at a time.

use apf::clock::Clock;
use apf::gate::Gate;
use apf::locked::{Locked, Shell};

use crate::peers::admission::ParkingLot;
use crate::peers::dispatcher::{Way, Whole};
use crate::peers::limiters::{Governor, Semaphores, Tower};
use crate::peers::one_by_one::{Bare, BareMutex, Nothing, OneByOne};
use crate::report::Report;
use crate::rounds::{Effort, Lanes};

const GATE: &str = "uncontended/gate/64";
const STD: &str = "uncontended/std-mutex/64";
const TOKIO: &str = "uncontended/tokio-acquire-await/1";

/// Every peer beside the gate.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) {
    let mut lanes = Lanes::default();
    for queues in [64, 128] {
        let name = |shell: &str| format!("uncontended/{shell}/{queues}");
        lanes.add(name("gate"), OneByOne::<Gate>::new(queues, clock.clone()));
        lanes.add(name("std-mutex"), OneByOne::<Locked>::new(queues, clock.clone()));
        lanes.add(name("parking_lot"), OneByOne::<Locked<ParkingLot<Shell>>>::new(queues, clock.clone()));
        lanes.add(name("core"), Bare::new(queues, clock.clone()));
    }
    lanes.add("uncontended/std-mutex-bare/64", BareMutex::new(64, clock.clone()));
    lanes.add("uncontended/gate-monotonic/64", OneByOne::<Gate>::new(64, Clock::monotonic()));
    lanes.add("uncontended/clock-only/1", Nothing::new(clock.clone()));
    lanes.add(TOKIO, Semaphores::new(true));
    lanes.add("uncontended/tokio-try-acquire/1", Semaphores::new(false));
    lanes.add("uncontended/tower-concurrency-limit/1", Tower::new());
    lanes.add("uncontended/governor-direct/1", Governor::new());
    lanes.add("uncontended/dispatcher-try-admit/11", Whole::built_in(Way::Try, clock.clone()));
    lanes.add("uncontended/dispatcher-admit-await/11", Whole::built_in(Way::Await, clock.clone()));
    lanes.add("uncontended/dispatcher-admit-blocking/11", Whole::built_in(Way::Block, clock.clone()));
    lanes.measure(effort);
    lanes.report(report, GATE);
    for (base, most, what) in [
        (STD, 1.25, "a standard mutex around the same core"),
        (TOKIO, 3.0, "tokio's acquire().await and drop, which reads no clock"),
    ] {
        let ratio = lanes.ratio(GATE, base);
        report.aim(
            ratio <= most,
            &format!(
                "uncontended start and finish at 64 queues, {} clock: at most {most} times {what}; measured {ratio:.2}",
                clock.name()
            ),
        );
    }
}
