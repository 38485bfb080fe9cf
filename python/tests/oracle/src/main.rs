//! Gives a trace to one level of apf-core, with nothing in between, and prints what it decides.
//!
//! Standard input: `MODE QUEUES HAND_SIZE QUEUE_LENGTH_LIMIT LIMIT SCHEMA`, then a line a request, by time:
//! `AT EXECUTION WAIT CAUSE USER INITIAL FINAL LATENCY`, nanoseconds. Standard output: for all requests the start as 8 bytes,
//! then for all the end, then for all the fate as one byte, as in the columns of a recording.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{Read, Write};

use apf_core::{
    Answer, Arrival, Arrived, Cancelled, Cause, FlowHash, Grant, Level, Mode, Queuing, Reason, RequestId,
    Sink, WorkEstimate,
};

#[derive(Clone, Copy)]
enum Event {
    Arrive(usize),
    Finish(usize),
    Release(usize),
    GiveUp(usize),
    Adjust,
}

#[derive(Clone, Copy)]
struct Request {
    at: u64,
    execution: u64,
    wait: u64,
    cause: Cause,
    flow_hash: u64,
    work: WorkEstimate,
    id: Option<RequestId>,
    start: i64,
    end: i64,
    fate: u8,
}

/// What happens next, in the order of time; at one time in the order of being planned.
#[derive(Default)]
struct Plan {
    events: BTreeMap<(u64, u64), Event>,
    planned: u64,
}

impl Plan {
    fn add(&mut self, at: u64, event: Event) {
        self.planned += 1;
        self.events.insert((at, self.planned), event);
    }
}

struct Taking<'a> {
    requests: &'a mut [Request],
    plan: &'a mut Plan,
}

impl Sink for Taking<'_> {
    fn grant(&mut self, grant: Grant) -> Answer {
        let index = grant.token as usize;
        let request = &mut self.requests[index];
        request.id = Some(grant.id);
        request.start = grant.start as i64;
        request.fate = 1;
        self.plan.add(grant.start + request.execution, Event::Finish(index));
        Answer::Taken
    }
}

fn fate(reason: Reason) -> u8 {
    match reason {
        Reason::QueueFull => 3,
        Reason::ConcurrencyLimit => 4,
        Reason::TimeOut => 5,
        Reason::Cancelled => 6,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().ok_or("no input")?.split(' ').collect();
    let [mode, queues, hand_size, queue_length_limit, limit, schema] = head[..] else {
        return Err("the first line has six words".into());
    };
    let mode = if mode == "exact" { Mode::Exact } else { Mode::Default };
    let queuing = Queuing::Queue {
        queues: queues.parse()?,
        hand_size: hand_size.parse()?,
        queue_length_limit: queue_length_limit.parse()?,
    };
    let limit: u32 = limit.parse()?;
    let hash: FlowHash = mode.flow_hash();

    let (mut requests, mut plan) = (Vec::new(), Plan::default());
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, execution, wait, cause, user, initial, last, latency] = words[..] else {
            return Err(format!("eight words are needed: {line}").into());
        };
        let work = WorkEstimate {
            initial_seats: initial.parse()?,
            final_seats: last.parse()?,
            additional_latency: latency.parse()?,
        };
        plan.add(at.parse()?, Event::Arrive(requests.len()));
        requests.push(Request {
            at: at.parse()?,
            execution: execution.parse()?,
            wait: wait.parse()?,
            cause: if cause == "caller" { Cause::Caller } else { Cause::TimeOut },
            flow_hash: hash.hash(schema, user),
            work,
            id: None,
            start: -1,
            end: -1,
            fate: 0,
        });
    }
    plan.add(10_000_000_000, Event::Adjust);
    let mut level = Level::new(mode, queuing, limit, 0).map_err(|error| format!("{error}"))?;
    let mut open = requests.len();
    while open > 0 {
        let Some(((now, _), event)) = plan.events.pop_first() else { break };
        let before = if let Event::Arrive(index)
        | Event::Finish(index)
        | Event::Release(index)
        | Event::GiveUp(index) = event
        {
            requests.get(index).copied()
        } else {
            None
        };
        let mut sink = Taking { requests: &mut requests, plan: &mut plan };
        match (event, before) {
            (Event::Arrive(index), Some(request)) => {
                let arrival =
                    Arrival { flow_hash: request.flow_hash, work: request.work, token: index as u64 };
                match level.arrive(now, arrival, &mut sink).map_err(|error| format!("{error}"))? {
                    Arrived::Waiting(id) => {
                        requests[index].id = Some(id);
                        plan.add(request.at + request.wait, Event::GiveUp(index));
                    }
                    Arrived::Rejected(reason) => {
                        (requests[index].fate, requests[index].end) = (fate(reason), now as i64);
                        open -= 1;
                    }
                    Arrived::Executing(_) | Arrived::Gone => {}
                }
            }
            (Event::Finish(index), Some(Request { id: Some(id), .. })) => {
                let finished = level.finish(now, id, &mut sink).map_err(|_| "it does not execute")?;
                match finished.release_at {
                    Some(due) => plan.add(due, Event::Release(index)),
                    None => {
                        (requests[index].fate, requests[index].end) = (2, now as i64);
                        open -= 1;
                    }
                }
            }
            (Event::Release(index), _) => {
                level.tick(now, &mut sink);
                (requests[index].fate, requests[index].end) = (2, now as i64);
                open -= 1;
            }
            (Event::GiveUp(index), Some(Request { id: Some(id), fate: 0, cause, .. })) => {
                if let Ok(Cancelled::Removed(reason)) = level.cancel(now, id, cause, &mut sink) {
                    (requests[index].fate, requests[index].end) = (fate(reason), now as i64);
                    open -= 1;
                }
            }
            (Event::Adjust, _) => {
                level.close_demand_period(now, &mut sink);
                level.reconfigure(now, queuing, limit, &mut sink).map_err(|error| format!("{error}"))?;
                plan.add(now + 10_000_000_000, Event::Adjust);
            }
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(requests.len() * 17);
    requests.iter().for_each(|request| out.extend_from_slice(&request.start.to_ne_bytes()));
    requests.iter().for_each(|request| out.extend_from_slice(&request.end.to_ne_bytes()));
    requests.iter().for_each(|request| out.push(request.fate));
    std::io::stdout().write_all(&out)?;
    Ok(())
}
