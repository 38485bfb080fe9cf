//! What a request costs as the configuration and the crowd grow.

use apf::clock::Clock;
use apf::gate::Gate;
use apf_config::Objects;
use apf_config::attributes::RequestAttributes;
use apf_config::plan::Plan;
use apf_core::FlowHash;

use crate::peers::crowd::OneCrowd;
use crate::peers::dispatcher::{Way, Whole, levels, schemas, user};
use crate::peers::one_by_one::OneByOne;
use crate::report::Report;
use crate::rounds::{Effort, Lanes, Peer};

/// Classification alone.
struct Classifier {
    plan: Plan,
    requests: Vec<(String, &'static [&'static str], &'static str, &'static str)>,
    turn: usize,
    /// Sum of the positions found, so that nothing is optimised away.
    found: u64,
    served: u64,
}

const USERS: &[&str] = &["system:authenticated"];
const ACCOUNTS: &[&str] = &["system:serviceaccounts", "system:authenticated"];

impl Classifier {
    fn new(
        objects: &Objects,
        requests: Vec<(String, &'static [&'static str], &'static str, &'static str)>,
    ) -> Self {
        let objects = apf_config::bootstrap::with_own(objects);
        let plan = Plan::compile(&objects, 600, FlowHash::Xxh3).expect("a valid configuration");
        Self { plan, requests, turn: 0, found: 0, served: 0 }
    }

    /// The built-in schemas alone, met by those they are for.
    fn built_in() -> Self {
        let nodes: &[&str] = &["system:nodes", "system:authenticated"];
        Self::new(
            &Objects::default(),
            vec![
                ("alice".to_owned(), USERS, "list", "pods"),
                ("system:node:n1".to_owned(), nodes, "update", "nodes"),
                ("system:kube-scheduler".to_owned(), USERS, "get", "endpoints"),
                (
                    "system:serviceaccount:kube-system:replicaset-controller".to_owned(),
                    ACCOUNTS,
                    "create",
                    "pods",
                ),
                ("admin".to_owned(), &["system:masters", "system:authenticated"], "delete", "secrets"),
            ],
        )
    }

    /// So many more: the first, the middle, the last, and one that none of them is for.
    fn with(count: u32) -> Self {
        let users = [0, count / 2, count - 1, count].map(|index| (user(index), ACCOUNTS, "list", "pods"));
        Self::new(&schemas(count, "catch-all"), users.to_vec())
    }
}

impl Peer for Classifier {
    fn serve(&mut self, requests: u64) {
        for _ in 0..requests {
            self.turn = if self.turn + 1 < self.requests.len() { self.turn + 1 } else { 0 };
            let (user, groups, verb, resource) = &self.requests[self.turn];
            let request = RequestAttributes::resource(verb, resource).by(user, *groups).in_namespace("dev");
            self.found += self.plan.classify(&request).schema as u64;
            self.served += 1;
        }
        std::hint::black_box(self.found);
    }

    fn served(&self) -> u64 {
        self.served
    }
}

/// Everything that grows.
pub fn case(report: &mut Report, effort: Effort, clock: &Clock) {
    const QUEUES: [u32; 7] = [64, 128, 256, 512, 1024, 2048, 4096];
    let mut lanes = Lanes::default();
    for queues in QUEUES {
        lanes.add(format!("queues/idle/{queues}"), OneByOne::<Gate>::new(queues, clock.clone()));
        let crowd = OneCrowd::<Gate>::new(queues, 2 * queues, clock.clone());
        lanes.add(format!("queues/saturated/{queues}"), crowd);
    }
    lanes.measure(effort);
    for queues in QUEUES {
        for work in ["idle", "saturated"] {
            against(report, &lanes, &format!("queues/{work}/{queues}"), &format!("queues/{work}/64"));
        }
    }

    const LEVELS: [u32; 4] = [1, 4, 16, 64];
    let mut lanes = Lanes::default();
    for count in LEVELS {
        let users = (0..count).map(user).collect();
        lanes.add(
            format!("levels/try-admit/{count}"),
            Whole::new(levels(count), Way::Try, clock.clone(), users),
        );
    }
    lanes.measure(effort);
    lanes.report(report, "levels/try-admit/1");

    let mut lanes = Lanes::default();
    lanes.add("schemas/classify/11", Classifier::built_in());
    lanes.add("schemas/try-admit/11", Whole::built_in(Way::Try, clock.clone()));
    for count in [100, 1000] {
        lanes.add(format!("schemas/classify/{count}"), Classifier::with(count));
        let users = [0, count / 2, count - 1, count].map(user).to_vec();
        let whole = Whole::new(schemas(count, "catch-all"), Way::Try, clock.clone(), users);
        lanes.add(format!("schemas/try-admit/{count}"), whole);
    }
    lanes.measure(effort);
    for count in [11, 100, 1000] {
        for what in ["classify", "try-admit"] {
            against(report, &lanes, &format!("schemas/{what}/{count}"), &format!("schemas/{what}/11"));
        }
    }
    let few = lanes.median("schemas/classify/11");
    report.aim(
        few <= 250.0,
        &format!("classification by the 11 built-in schemas: at most 250 ns; measured {few:.0}"),
    );
    let ratio = lanes.ratio("schemas/classify/1000", "schemas/classify/11");
    report.aim(
        ratio <= 4.0,
        &format!("classification by 1000 schemas: at most 4 times that by 11; measured {ratio:.2}"),
    );

    const WAITING: [u32; 5] = [0, 100, 1_000, 10_000, 100_000];
    let mut lanes = Lanes::default();
    for waiting in WAITING {
        lanes.add(format!("waiting/gate/{waiting}"), OneCrowd::<Gate>::new(64, waiting, clock.clone()));
    }
    lanes.measure(effort);
    lanes.report(report, "waiting/gate/100");
}

/// A figure and its ratio to the smallest of its series.
fn against(report: &mut Report, lanes: &Lanes, name: &str, base: &str) {
    if name == base {
        report.figure(name, lanes.median(name), "ns/request");
    } else {
        report.compared(name, lanes.median(name), "ns/request", base, lanes.ratio(name, base));
    }
}
