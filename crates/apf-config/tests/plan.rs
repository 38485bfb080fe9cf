//! What a configuration amounts to: levels, limits, order, and what is left out and why.

mod common;

use apf_config::bootstrap;
use apf_config::objects::{DistinguisherMethod, Exempt, Objects, PriorityLevelSpec};
use apf_config::plan::{LevelDefect, LevelOrigin, Plan, PlanError, PlannedLevel, SchemaDefect, total_seats};
use apf_core::{DealerError, FlowHash, Queuing};
use common::*;

fn find<'p>(plan: &'p Plan, name: &str) -> &'p PlannedLevel {
    &plan.levels()[plan.level_index(name).unwrap_or_else(|| panic!("no level {name}"))]
}

#[test]
fn the_built_in_levels_get_the_published_limits_at_600_seats() {
    let plan = plan(&bootstrap::all());
    assert_eq!(plan.nominal_sum(), 602);
    for (name, nominal, min, max, initial, max_seats) in [
        ("exempt", 0, 0, 600, 0, 0),
        ("catch-all", 13, 13, 613, 13, 0),
        ("system", 74, 50, 674, 62, 12),
        ("node-high", 98, 73, 698, 86, 15),
        ("leader-election", 25, 25, 625, 25, 4),
        ("workload-high", 98, 49, 698, 74, 15),
        ("workload-low", 245, 24, 845, 135, 37),
        ("global-default", 49, 24, 649, 37, 8),
    ] {
        let level = find(&plan, name);
        let limits = level.limits;
        assert_eq!(
            (limits.nominal, limits.min, limits.max, limits.initial, level.max_seats),
            (nominal, min, max, initial, max_seats),
            "{name}"
        );
        assert_eq!(level.origin, LevelOrigin::Object);
    }
    assert!(plan.levels().is_sorted_by_key(|level| &level.name));
    assert!(plan.ignored_levels().is_empty());
    assert!(plan.statuses().iter().all(|status| !status.dangling && status.ignored.is_none()));
}

#[test]
fn the_built_in_levels_get_the_published_limits_at_100_seats() {
    let plan = Plan::compile(&bootstrap::all(), 100, FlowHash::Xxh3).unwrap();
    let nominal = [
        "exempt",
        "catch-all",
        "system",
        "node-high",
        "leader-election",
        "workload-high",
        "workload-low",
        "global-default",
    ]
    .map(|name| find(&plan, name).limits.nominal);
    assert_eq!(nominal, [0, 3, 13, 17, 5, 17, 41, 9]);
    assert_eq!(plan.nominal_sum(), 105);
}

/// Kubernetes issue 102885: both in-flight limits 0, and a server that never became ready without saying why.
#[test]
fn a_server_without_seats_is_refused_and_a_huge_one_does_not_overflow() {
    assert_eq!(total_seats(600), Ok(600));
    assert_eq!(total_seats(i64::from(i32::MAX)), Ok(2_147_483_647));
    for refused in [0, -1, i64::MIN, i64::from(i32::MAX) + 1, i64::MAX] {
        let error = total_seats(refused).unwrap_err();
        assert_eq!(error, PlanError::TotalSeats(refused));
        let message = error.to_string();
        assert_eq!(
            message,
            format!("the server's total number of seats must be from 1 to 2147483647, not {refused}")
        );
    }
    assert_eq!(Plan::compile(&bootstrap::all(), 0, FlowHash::Xxh3).unwrap_err(), PlanError::TotalSeats(0));

    let seats = total_seats(i64::from(i32::MAX)).unwrap();
    let plan = Plan::compile(&bootstrap::all(), seats, FlowHash::Xxh3).unwrap();
    let low = find(&plan, "workload-low").limits;
    // ceil(2147483647 x 100 / 245), and 90 % of it lendable.
    assert_eq!((low.nominal, low.min), (876_523_938, 876_523_938 - 788_871_544));
    for level in plan.levels() {
        assert!(
            level.limits.min <= level.limits.nominal && level.limits.nominal <= level.limits.max,
            "{level:?}"
        );
        assert!(level.limits.max >= seats && level.max_seats <= level.limits.nominal, "{level:?}");
    }
    let largest_shares = Objects {
        priority_levels: vec![
            level("a", limited(i32::MAX, 100, queue(64, 6))),
            level("b", limited(i32::MAX, 0, reject())),
        ],
        flow_schemas: vec![],
    };
    let plan = Plan::compile(&largest_shares, seats, FlowHash::Xxh3).unwrap();
    assert_eq!((find(&plan, "a").limits.min, find(&plan, "b").limits.nominal), (0, 1_073_741_823));
}

#[test]
fn an_empty_configuration_is_the_mandatory_one() {
    let plan = plan(&Objects::default());
    let levels: Vec<_> =
        plan.levels().iter().map(|level| (&*level.name, level.origin, level.queuing, &*level.uid)).collect();
    assert_eq!(
        levels,
        [
            ("catch-all", LevelOrigin::Imagined, Queuing::Reject, ""),
            ("exempt", LevelOrigin::Imagined, Queuing::Exempt, "")
        ]
    );
    assert_eq!(find(&plan, "catch-all").limits.nominal, 600);
    let schemas: Vec<_> =
        plan.schemas().iter().map(|schema| (&*schema.name, schema.imagined, &*schema.uid)).collect();
    assert_eq!(schemas, [("exempt", true, ""), ("catch-all", true, "")]);
    assert!(plan.statuses().is_empty());
}

#[test]
fn a_broken_level_is_ignored_with_its_reason() {
    let mut both = limited(5, 0, reject());
    both.exempt = Some(Exempt::default());
    let bare = |kind: &str| PriorityLevelSpec { kind: kind.into(), limited: None, exempt: None };
    let mut unqueued = reject();
    unqueued.kind = "Queue".into();
    let mut overqueued = queue(64, 8);
    overqueued.kind = "Reject".into();
    let mut odd_response = queue(64, 8);
    odd_response.kind = "Drop".into();
    let mut short = queue(64, 8);
    short.queuing.as_mut().unwrap().queue_length_limit = -1;
    let mut borrows = limited(5, 0, reject());
    borrows.limited.as_mut().unwrap().borrowing_limit_percent = Some(-1);
    let range = |field, value| LevelDefect::OutOfRange { field, value };
    let queues = |queues, hand_size, cause| LevelDefect::Queues { queues, hand_size, cause };
    for (name, spec, defect) in [
        ("a", bare("Limited"), LevelDefect::LimitedMismatch),
        ("a", both, LevelDefect::ExemptMismatch),
        ("exempt", bare("Exempt"), LevelDefect::ExemptMismatch),
        ("a", exempt(), LevelDefect::ExemptName),
        ("exempt", limited(5, 0, reject()), LevelDefect::ExemptName),
        ("a", bare("limited"), LevelDefect::UnknownType("limited".into())),
        ("a", bare(""), LevelDefect::UnknownType(String::new())),
        ("a", limited(5, 0, unqueued), LevelDefect::ResponseMismatch),
        ("a", limited(5, 0, overqueued), LevelDefect::ResponseMismatch),
        ("a", limited(5, 0, odd_response), LevelDefect::UnknownResponse("Drop".into())),
        ("a", limited(5, 0, queue(512, 8)), queues(512, 8, DealerError::EntropyExceeded)),
        ("a", limited(5, 0, queue(4, 5)), queues(4, 5, DealerError::HandExceedsDeck)),
        ("a", limited(5, 0, queue(-1, 1)), queues(-1, 1, DealerError::NotPositive)),
        ("a", limited(5, 0, short), range("spec.limited.limitResponse.queuing.queueLengthLimit", -1)),
        ("a", limited(-1, 0, reject()), range("spec.limited.nominalConcurrencyShares", -1)),
        ("a", limited(1, 101, reject()), range("spec.limited.lendablePercent", 101)),
        ("a", borrows, range("spec.limited.borrowingLimitPercent", -1)),
    ] {
        let objects = Objects { flow_schemas: vec![], priority_levels: vec![level(name, spec)] };
        let plan = plan(&objects);
        let [ignored] = plan.ignored_levels() else {
            panic!("{name} {defect:?} {:?}", plan.ignored_levels())
        };
        assert_eq!((&*ignored.name, &ignored.defect), (name, &defect));
        assert_eq!(plan.level_index("a"), None);
        assert_eq!(find(&plan, "exempt").origin, LevelOrigin::Imagined);
        assert!(ignored.defect.to_string().starts_with("spec."), "{}", ignored.defect);
    }
}

#[test]
fn unset_shares_are_the_published_defaults() {
    let mut objects = bootstrap::all();
    for level in &mut objects.priority_levels {
        match level.metadata.name.as_str() {
            "exempt" => level.spec.exempt = Some(Exempt::default()),
            "system" | "catch-all" => {
                let limited = level.spec.limited.as_mut().unwrap();
                (limited.nominal_concurrency_shares, limited.lendable_percent) = (None, None);
            }
            _ => {}
        }
    }
    let plan = plan(&objects);
    let shares = |name| (find(&plan, name).shares.shares, find(&plan, name).shares.lendable_percent);
    assert_eq!((shares("exempt"), shares("system"), shares("catch-all")), ((0, 0), (30, 0), (30, 0)));
}

#[test]
fn zero_shares_are_a_level_without_seats_and_not_a_default() {
    let objects =
        Objects { flow_schemas: vec![], priority_levels: vec![level("jail", limited(0, 0, queue(64, 6)))] };
    let plan = plan(&objects);
    let jail = find(&plan, "jail");
    assert_eq!((jail.limits.nominal, jail.limits.initial, jail.max_seats), (0, 0, 1));
}

#[test]
fn a_schema_whose_level_is_missing_or_broken_is_dangling_and_left_out() {
    let objects = Objects {
        flow_schemas: vec![
            schema("to-good", "good", 1000, vec![anyone_anything()]),
            schema("to-missing", "missing", 900, vec![anyone_anything()]),
            schema("to-broken", "broken", 900, vec![anyone_anything()]),
            by(
                DistinguisherMethod::Unknown("ByMood".into()),
                schema("moody", "good", 800, vec![anyone_anything()]),
            ),
        ],
        priority_levels: vec![
            level("good", limited(1, 0, reject())),
            level("broken", limited(1, 0, queue(1, 2))),
        ],
    };
    let plan = plan(&objects);
    let names: Vec<_> = plan.schemas().iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, ["exempt", "to-good", "catch-all"]);
    let verdicts: Vec<_> = plan
        .statuses()
        .iter()
        .map(|status| (&*status.name, status.dangling, status.ignored.clone()))
        .collect();
    assert_eq!(
        verdicts,
        [
            ("to-good", false, None),
            ("to-missing", true, Some(SchemaDefect::Dangling)),
            ("to-broken", true, Some(SchemaDefect::Dangling)),
            ("moody", false, Some(SchemaDefect::UnknownDistinguisher("ByMood".into()))),
        ]
    );
    let condition = plan.statuses()[2].condition();
    assert_eq!(
        condition.message,
        "This FlowSchema references the PriorityLevelConfiguration object named \"broken\" but there is no such object"
    );
}

/// An imagined level serves only the imagined schema: objects that name it dangle until it has an object.
#[test]
fn schemas_of_a_mandatory_level_without_object_are_replaced_by_the_imagined_one() {
    let mut objects = bootstrap::all();
    objects.priority_levels.retain(|level| level.metadata.name != "exempt");
    let plan = plan(&objects);
    let dangling: Vec<_> =
        plan.statuses().iter().filter(|status| status.dangling).map(|status| &*status.name).collect();
    assert_eq!(dangling, ["exempt", "probes"]);
    assert_eq!((&*plan.schemas()[0].name, plan.schemas()[0].imagined), ("exempt", true));
    assert!(plan.schemas().iter().all(|schema| schema.name != "probes"));
    assert_eq!(find(&plan, "exempt").origin, LevelOrigin::Imagined);
}

#[test]
fn imagined_schemas_stand_at_the_ends_whatever_the_precedence_of_others() {
    let plan = plan(&config(vec![
        schema("late", "l", 10_000, vec![]),
        schema("zz", "l", 10_000, vec![]),
        schema("a-first", "l", 1, vec![]),
    ]));
    let names: Vec<_> = plan.schemas().iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, ["exempt", "a-first", "late", "zz", "catch-all"]);
}

#[test]
fn present_mandatory_schemas_are_sorted_like_any_other() {
    let plan = plan(&config(vec![
        schema("catch-all", "catch-all", 10_000, vec![]),
        schema("zz", "l", 10_000, vec![]),
        schema("exempt", "exempt", 1, vec![]),
        schema("a-first", "l", 1, vec![]),
    ]));
    let names: Vec<_> = plan.schemas().iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, ["a-first", "exempt", "catch-all", "zz"]);
    assert!(plan.schemas().iter().all(|schema| !schema.imagined));
}

#[test]
fn two_objects_of_one_name_are_refused_by_name() {
    let mut objects = bootstrap::all();
    objects.flow_schemas.push(schema("probes", "exempt", 3, vec![]));
    let error = Plan::compile(&objects, 600, FlowHash::Xxh3).unwrap_err();
    assert_eq!(error.to_string(), "FlowSchema \"probes\": metadata.name: there is another of this name");
    objects.priority_levels.push(level("system", limited(1, 0, reject())));
    let error = Plan::compile(&objects, 600, FlowHash::Xxh3).unwrap_err();
    assert_eq!(error, PlanError::LevelTwice("system".into()));
}

#[test]
fn a_level_that_is_still_at_work_keeps_its_seats_but_gets_no_requests() {
    let edited = PriorityLevelSpec {
        exempt: Some(Exempt { nominal_concurrency_shares: Some(100), lendable_percent: Some(50) }),
        ..exempt()
    };
    let mut exempt = level("exempt", edited);
    exempt.metadata.uid = "uid-of-exempt".into();
    let before = Plan::compile(
        &Objects {
            flow_schemas: vec![],
            priority_levels: vec![
                level("old", limited(45, 50, queue(64, 6))),
                level("new", limited(1, 0, reject())),
                level("idle", limited(7, 0, reject())),
                exempt,
            ],
        },
        200,
        FlowHash::Xxh3,
    )
    .unwrap();
    let objects = Objects {
        flow_schemas: vec![schema("s", "old", 5, vec![anyone_anything()])],
        priority_levels: vec![level("new", limited(50, 0, reject()))],
    };
    let plan = before.succeed(&objects, 200, |level| level.name == "old" || level.name == "new").unwrap();

    // Shares 50 + 45 + 100 (the edited exempt) + 5 (catch-all) of 200 seats.
    assert_eq!(plan.level_index("idle"), None);
    assert_eq!(find(&plan, "new").limits.nominal, 50);
    assert_eq!(find(&plan, "old").limits.nominal, 45);
    assert_eq!(find(&plan, "exempt").limits.nominal, 100);
    assert_eq!(find(&plan, "catch-all").limits.nominal, 5);
    let quiescing: Vec<_> =
        plan.levels().iter().filter(|level| level.is_quiescing()).map(|level| &*level.name).collect();
    assert_eq!(quiescing, ["old"]);
    assert_eq!(find(&plan, "new").origin, LevelOrigin::Object);
    assert_eq!(find(&plan, "exempt").origin, LevelOrigin::Retained);
    assert_eq!(find(&plan, "exempt").uid, "uid-of-exempt");
    assert_eq!(find(&plan, "catch-all").origin, LevelOrigin::Imagined);
    assert!(plan.statuses()[0].dangling);
    let names: Vec<_> = plan.schemas().iter().map(|schema| &*schema.name).collect();
    assert_eq!(names, ["exempt", "catch-all"]);
}

/// A mandatory level whose object is deleted does not fall back to the built-in values while the server runs.
#[test]
fn an_idle_mandatory_level_without_object_stays_as_it_was() {
    let mut catch_all = level("catch-all", limited(300, 50, queue(16, 4)));
    catch_all.metadata.uid = "uid-of-catch-all".into();
    let first = plan(&Objects { flow_schemas: vec![], priority_levels: vec![catch_all] });
    let second = first.succeed(&Objects::default(), 600, |_| false).unwrap();
    let third = second.succeed(&Objects::default(), 600, |_| false).unwrap();
    assert_eq!(find(&third, "catch-all").spec, find(&first, "catch-all").spec);
    assert_eq!(find(&third, "catch-all").uid, "uid-of-catch-all");
    assert_eq!(find(&third, "catch-all").origin, LevelOrigin::Retained);
    assert!(!find(&third, "catch-all").is_quiescing());
}

#[test]
fn a_level_that_loses_its_queues_keeps_its_width_bound_until_it_is_gone() {
    let with = |response| Objects {
        flow_schemas: vec![],
        priority_levels: vec![level("l", limited(95, 0, response))],
    };
    let before = plan(&with(queue(64, 6)));
    assert_eq!(find(&before, "l").max_seats, 86); // 570 seats: 15 % against a sixth
    assert_eq!(find(&plan(&with(reject())), "l").max_seats, 0);
    let after = |objects: &Objects| before.succeed(objects, 600, |_| false).unwrap();
    assert_eq!(find(&after(&with(reject())), "l").max_seats, 86);
    assert_eq!(after(&with(queue(64, 16))).level_index("l"), None);
    assert_eq!(find(&after(&with(queue(16, 15))), "l").max_seats, 38);
}
