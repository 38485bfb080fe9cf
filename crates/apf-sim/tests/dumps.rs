//! A scenario can be looked at while it runs, in the debug dumps of kube-apiserver.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use apf_sim::scenario::{Observer, RunOptions, Scenario, Snapshot};

struct Dumps(Vec<String>);

impl Observer for Dumps {
    fn period(&self) -> u64 {
        1_000_000_000
    }

    fn observe(&mut self, snapshot: &Snapshot<'_>) {
        let origin = jiff::Timestamp::UNIX_EPOCH;
        self.0.push(snapshot.dump_priority_levels());
        self.0.push(snapshot.dump_requests(origin, true));
    }
}

#[test]
fn a_running_scenario_can_be_dumped() {
    let text = "
seats: 600
duration: 2500ms
clients:
- name: admin
  user: admin
  groups: [system:masters]
  request: {path: /apis/apps/v1/namespaces/a/deployments/d}
  closed: {threads: 2}
  exec: 10s
";
    let Scenario::Server(scenario) = Scenario::parse(text, "f", Path::new("")).unwrap() else { panic!() };
    let mut dumps = Dumps(Vec::new());
    scenario.run(&RunOptions::default(), &mut dumps, &mut |_| {}).unwrap();
    assert_eq!(dumps.0.len(), 4);
    let row = dumps.0[3].lines().nth(2).unwrap();
    let cells: Vec<&str> = row.split(',').map(str::trim).collect();
    assert_eq!(cells[..4], ["exempt", "exempt", "-1", "-1"]);
    assert_eq!(
        cells[10..],
        ["admin", "get", "/apis/apps/v1/namespaces/a/deployments/d", "a", "d", "apps/v1", "deployments", ""]
    );
}
