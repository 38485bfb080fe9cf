//! What the core has to say in words: every `Display` it has.

use crate::line::Line;
use crate::story::Refused;
use apf_core::{
    Arrival, ArriveError, Dealer, Level, LevelLimits, MAX_SEATS, Mode, Queuing, Reason, SeatSeconds, TakeAll,
    WorkEstimate, level_limits,
};
use core::hint::black_box;

/// The text of an error that must be one.
fn refusal<T>(result: Result<T, impl core::fmt::Display>) -> Result<(), Refused> {
    let Err(error) = result else { return Err(Refused) };
    Line::new("refused:").shown(error).print();
    Ok(())
}

pub(crate) fn print() -> Result<(), Refused> {
    Line::new("shown").shown(SeatSeconds::from_raw(black_box(1_200_600_000))).shown(SeatSeconds::MAX).print();
    let mut line = Line::new("reasons");
    for reason in [Reason::QueueFull, Reason::ConcurrencyLimit, Reason::TimeOut, Reason::Cancelled] {
        line = line.shown(black_box(reason));
    }
    line.print();

    for (deck, hand) in [(0, 0), (5, 6), (1 << 27, 2), (1025, 6)] {
        refusal(Dealer::new(black_box(deck), black_box(hand)))?;
    }
    let queuing = Queuing::Queue { queues: 0, hand_size: 1, queue_length_limit: 1 };
    refusal(Level::new(Mode::Default, black_box(queuing), 1, 0))?;
    let mut short: [LevelLimits; 0] = [];
    refusal(level_limits(black_box(0), &[], &mut short))?;
    refusal(level_limits(black_box(1), black_box(&[Default::default()]), &mut short))?;

    let mut level = Level::new(Mode::Default, Queuing::Exempt, 1, 0)?;
    for (seats, additional_latency) in [(0, 0), (MAX_SEATS + 1, 0), (1, u64::MAX)] {
        let work = WorkEstimate { initial_seats: seats, final_seats: 0, additional_latency };
        let refused = level.arrive(0, black_box(Arrival { flow_hash: 0, work, token: 0 }), &mut TakeAll);
        refusal(refused)?;
    }
    refusal(Err::<(), _>(black_box(ArriveError::OutOfMemory)))?;
    let arrival = Arrival { flow_hash: 0, work: WorkEstimate::seats(1), token: 0 };
    let apf_core::Arrived::Executing(id) = level.arrive(0, arrival, &mut TakeAll)? else {
        return Err(Refused);
    };
    level.finish(0, id, &mut TakeAll)?;
    refusal(level.finish(0, black_box(id), &mut TakeAll))
}
