//! Where the threads of a measurement run.

use std::collections::BTreeSet;

use crate::topology::Topology;

/// Threads pinned to processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// `one-core`, `one-cache`, `one-node`, `all` or `oversubscribed`.
    pub name: &'static str,
    /// The processor of every thread.
    pub threads: Vec<u32>,
}

/// Threads on one processor where several have to share it.
const SHARERS: usize = 4;

/// From close together to more threads than processors. What would be the same threads in the same places as before is
/// left out.
pub fn sweep(topology: &Topology) -> Vec<Placement> {
    let Some(first) = topology.cpus.first() else { return Vec::new() };
    let node: BTreeSet<u32> =
        topology.cpus.iter().filter(|cpu| cpu.node == first.node).map(|cpu| cpu.id).collect();
    let all: Vec<u32> = topology.cpus.iter().map(|cpu| cpu.id).collect();
    // Two threads at least: on a core without siblings they share the processor.
    let core = if first.core.len() > 1 { first.core.iter().copied().collect() } else { vec![first.id; 2] };
    let oversubscribed = all.iter().copied().cycle().take(all.len() * SHARERS).collect();
    let mut placements: Vec<Placement> = Vec::new();
    for (name, threads) in [
        ("one-core", core),
        ("one-cache", first.cache.iter().copied().collect()),
        ("one-node", node.into_iter().collect()),
        ("all", all),
        ("oversubscribed", oversubscribed),
    ] {
        if threads.len() > 1 && !placements.iter().any(|earlier| earlier.threads == threads) {
            placements.push(Placement { name, threads });
        }
    }
    placements
}

/// Has the calling thread run on this processor alone; `false` when the system does not allow it.
pub fn pin(cpu: u32) -> bool {
    core_affinity::set_for_current(core_affinity::CoreId { id: cpu as usize })
}

/// Processors that this process may use, in order; the `index`th, beginning anew after the last.
pub fn cpu(index: usize) -> Option<u32> {
    let usable = core_affinity::get_core_ids()?;
    usable.get(index.checked_rem(usable.len())?).map(|core| core.id as u32)
}
