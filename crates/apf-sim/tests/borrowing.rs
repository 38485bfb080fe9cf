//! Borrowing over a whole server: who gets how many seats, and when.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use apf_config::attributes::RequestAttributes;
use apf_core::{Adjusted, Borrower, DemandStats, LevelLimits, Mode, adjust};
use apf_sim::configuration::{BuiltIn, Configuration};
use apf_sim::server::{Server, ServerOptions};

use common::{Grants, SECOND, currents, finish, start};

const PERIOD: u64 = 10 * SECOND;

/// A server with the built-in objects and 600 seats.
fn built_in(mode: Mode) -> Server {
    let objects = Configuration::built_in(BuiltIn::Suggested).objects().clone();
    Server::new(ServerOptions::new(mode), objects, 600, 0).unwrap()
}

/// In the order of the reports: leader-election, node-high, system, workload-high, workload-low, global-default, catch-all.
fn limits(server: &Server) -> [u32; 7] {
    let of = currents(server);
    let names = [
        "leader-election",
        "node-high",
        "system",
        "workload-high",
        "workload-low",
        "global-default",
        "catch-all",
    ];
    names.map(|name| of.iter().find(|(other, _)| *other == name).unwrap().1)
}

const IDLE: [u32; 7] = [58, 170, 117, 114, 56, 56, 30];
const MINIMUMS: [u32; 7] = [25, 73, 50, 49, 24, 24, 13];

fn exempt<'a>() -> RequestAttributes<'a> {
    RequestAttributes::resource("get", "pods").by("admin", &["system:masters"])
}

fn workload_low<'a>() -> RequestAttributes<'a> {
    let groups = &["system:serviceaccounts", "system:authenticated"];
    RequestAttributes::resource("get", "pods").in_namespace("dev").by("system:serviceaccount:dev:a", groups)
}

fn workload_high<'a>() -> RequestAttributes<'a> {
    let groups = &["system:authenticated"];
    RequestAttributes::resource("list", "pods").by("system:kube-controller-manager", groups)
}

fn system<'a>() -> RequestAttributes<'a> {
    RequestAttributes::resource("get", "secrets")
        .in_namespace("dev")
        .by("system:node:n1", &["system:nodes", "system:authenticated"])
}

fn step(server: &mut Server, now: u64) {
    server.adjust(now, &mut Grants::default()).unwrap();
}

/// Kubernetes PRs 113485 and 124736: the table of allocations at 600 seats.
#[test]
fn an_idle_server_shares_its_seats_by_the_minimums() {
    for mode in [Mode::Exact, Mode::Default] {
        let mut server = built_in(mode);
        step(&mut server, PERIOD);
        assert_eq!(limits(&server), IDLE);
        assert_eq!(limits(&server).iter().sum::<u32>(), 601);
    }
    let server = built_in(Mode::Default);
    let of = |get: fn(&LevelLimits) -> u32| server.levels().map(|level| get(&level.limits())).sum::<u32>();
    assert_eq!((of(|l| l.nominal), of(|l| l.min)), (602, 258));
}

/// Kubernetes issue 124125: exempt traffic must push the others back.
#[test]
fn exempt_demand_is_taken_first_and_the_others_share_the_rest() {
    for (mode, with_100) in [(Mode::Default, [49, 142, 97, 95, 47, 47, 25]), (Mode::Exact, IDLE)] {
        let mut server = built_in(mode);
        let running = start(&mut server, PERIOD, 100, &exempt());
        step(&mut server, 2 * PERIOD);
        assert_eq!(limits(&server), with_100, "{mode:?}");
        finish(&mut server, 2 * PERIOD, &running);
    }
    for mode in [Mode::Default, Mode::Exact] {
        let mut server = built_in(mode);
        start(&mut server, PERIOD, 400, &exempt());
        step(&mut server, 2 * PERIOD);
        assert_eq!(limits(&server), MINIMUMS, "{mode:?}");
    }
}

#[test]
fn when_exempt_demand_leaves_too_little_the_busy_give_way_in_proportion() {
    let mut server = built_in(Mode::Default);
    // Enough seats for both levels first: they are busy by the nominal limits when the exempt requests come.
    let limits_of = |server: &Server, name: &str| {
        currents(server).iter().find(|(other, _)| *other == name).unwrap().1 as usize
    };
    let mut now = PERIOD;
    let (mut low, mut high) = (0, 0);
    for _ in 0..10 {
        let more_low = limits_of(&server, "workload-low").min(245).saturating_sub(low);
        start(&mut server, now, more_low, &workload_low());
        low += more_low;
        let more_high = limits_of(&server, "workload-high").min(98).saturating_sub(high);
        start(&mut server, now, more_high, &workload_high());
        high += more_high;
        now += PERIOD;
        step(&mut server, now);
    }
    assert_eq!((low, high), (245, 98));
    start(&mut server, now, 300, &exempt());
    step(&mut server, now + PERIOD);
    let [leader_election, node_high, system, workload_high, workload_low, global_default, catch_all] =
        limits(&server);
    assert_eq!((workload_low, workload_high), (60, 57));
    assert_eq!([leader_election, node_high, system, global_default, catch_all], [25, 73, 50, 24, 13]);
}

#[test]
fn a_flooded_level_borrows_all_that_the_idle_may_lend_and_gives_it_back() {
    for mode in [Mode::Default, Mode::Exact] {
        let mut server = built_in(mode);
        // Demand of 500 for a third of the period: average plus deviation is about 400.
        let users = ["a", "b", "c", "d", "e"].map(|name| format!("system:serviceaccount:dev:{name}"));
        for user in users.iter().cycle().take(500) {
            let request = RequestAttributes { user, ..workload_low() };
            common::arrive(&mut server, 6_700_000_000, &request, &mut Grants::default());
        }
        step(&mut server, PERIOD);
        let workload_low = server.level(server.level_named("workload-low").unwrap());
        assert!((workload_low.demand().smoothed - 400.0).abs() < 1.0, "{:?}", workload_low.demand());
        assert_eq!(workload_low.demand().high_watermark, 500);
        assert_eq!(limits(&server), [25, 73, 50, 49, 368, 24, 13]);

        // A lender that wants its own seats has them after the next adjustment.
        start(&mut server, PERIOD, 50, &system());
        for _ in 0..30 {
            common::arrive(&mut server, PERIOD, &system(), &mut Grants::default());
        }
        step(&mut server, 2 * PERIOD);
        assert_eq!(limits(&server)[2], 74, "its nominal limit");
    }
}

/// Kubernetes issue 111482: without borrowing, a level is throttled exactly at its nominal limit.
#[test]
fn a_borrowing_limit_bounds_what_a_flooded_level_gets() {
    let borrower = |max: u32, demand: u32| Borrower {
        exempt: false,
        limits: LevelLimits { nominal: 50, min: 25, max, initial: 38 },
        stats: DemandStats { high_watermark: demand, smoothed: f64::from(demand), ..DemandStats::default() },
        current: 38,
    };
    for (max_of_a, expected) in [(50, [50, 71, 29]), (60, [60, 64, 26])] {
        let borrowers = [borrower(max_of_a, 500), borrower(200, 60), borrower(200, 0)];
        let mut adjusted = [Adjusted::default(); 3];
        adjust(Mode::Default, &borrowers, &mut adjusted);
        assert_eq!(adjusted.map(|level| level.current), expected);
    }
}

/// Kubernetes issue 120032: one bad figure made every later adjustment fail.
#[test]
fn adjusting_twice_at_one_instant_leaves_finite_statistics() {
    for mode in [Mode::Default, Mode::Exact] {
        let mut server = built_in(mode);
        step(&mut server, 0);
        step(&mut server, 0);
        step(&mut server, PERIOD);
        assert_eq!(limits(&server), IDLE);
        start(&mut server, PERIOD, 7, &workload_low());
        step(&mut server, PERIOD);
        step(&mut server, 2 * PERIOD);
        for level in server.levels() {
            let demand = level.demand();
            let all = [demand.average, demand.deviation, demand.smoothed, level.target()];
            assert!(all.iter().all(|figure| figure.is_finite() && *figure >= 0.0), "{demand:?}");
        }
        let demand = server.level(server.level_named("workload-low").unwrap()).demand();
        assert_eq!((demand.average, demand.deviation, demand.high_watermark), (7.0, 0.0, 7));
    }
}
