//! The examples of `docs/scenarios.md` run.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use apf_sim::scenario::{RunOptions, Scenario, ScenarioReport};

#[test]
fn the_scenarios_in_the_documentation_run_and_hold() {
    let text = include_str!("../../../docs/scenarios.md");
    let blocks: Vec<&str> =
        text.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let scenario =
            Scenario::parse(block, "docs/scenarios.md", Path::new("")).unwrap_or_else(|e| panic!("{e}"));
        match scenario.run(&RunOptions::default(), &mut |_| {}).unwrap() {
            ScenarioReport::Fairness(report) => assert!(report.holds(), "{report:#?}"),
            ScenarioReport::Server(report) => {
                let lister = &report.clients[0].traffic;
                assert!(lister.queued > 0 && lister.rejected_queue_full > 0, "{lister:?}");
                assert!(report.clients[1].traffic.requests > 500);
            }
        }
    }
}
