"""Scenarios, replays and submitted requests on simulated time."""

from __future__ import annotations

import array
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
from typing import Any, Dict, List, Literal

import pytest

import apf_core

LOG = pathlib.Path(__file__).parents[2] / "crates/apf-sim/tests/data/audit2rbac-demo-a.jsonl"

LEVEL = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: traced}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 10
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: %d, handSize: %d, queueLengthLimit: %d}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: traced-schema}
spec:
  priorityLevelConfiguration: {name: traced}
  matchingPrecedence: 2
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
"""


def tool(variable: str) -> str:
    """A program of this repository that `cargo xtask test --only python` builds."""
    path = os.environ.get(variable)
    if path is None:
        pytest.skip(f"{variable} does not say where it is")
    return path


@pytest.mark.parametrize("mode", ["default", "exact"])
@pytest.mark.parametrize(("queues", "hand", "length"), [(16, 3, 4), (4, 2, 50), (1, 1, 10)])
def test_a_random_trace_is_decided_as_the_core_decides_it_byte_for_byte(
    mode: Literal["default", "exact"], queues: int, hand: int, length: int
) -> None:
    oracle = tool("APF_CORE_DECISIONS")
    dice = random.Random(f"{mode} {queues}")
    # 10 shares of 15 with the mandatory level catch-all.
    config, seats = LEVEL % (queues, hand, length), 15
    simulator = apf_core.Simulator(config, seats, built_in="mandatory", mode=mode)
    limit = apf_core.Dispatcher(config, seats, built_in="mandatory").stats().levels["traced"].nominal
    assert limit == 10
    lines = [f"{mode} {queues} {hand} {length} {limit} traced-schema"]
    at = 0
    for _ in range(6000):
        at += int(dice.expovariate(1 / 4e6)) + 1
        user = f"user-{min(int(dice.expovariate(0.3)), 30)}"
        wide = dice.random() < 0.1
        initial, final = (dice.randint(2, 12), dice.randint(0, 14)) if wide else (1, dice.choice([0, 0, 1, 2]))
        latency = dice.choice([0, 0, dice.randrange(20_000_000)])
        execution = int(dice.expovariate(1 / 30e6)) + 1
        leaves = int(dice.uniform(1e6, 200e6)) if dice.random() < 0.2 else None
        limit_ns = 100_000_000 if dice.random() < 0.5 else 15_000_000_000
        wait, cause = min((limit_ns, "time-out"), (leaves or 1 << 62, "caller"))
        request = apf_core.Request(
            verb="get",
            resource="pods",
            user=user,
            seats=initial,
            final_seats=final,
            additional_latency=latency / 1e9,
            wait_limit=limit_ns / 1e9,
        )
        simulator.submit(
            request, at / 1e9, execution / 1e9, cancel_after=None if leaves is None else leaves / 1e9
        )
        lines.append(f"{at} {execution} {wait} {cause} {user} {initial} {final} {latency}")
    decided = subprocess.run([oracle], input="\n".join(lines).encode(), capture_output=True, check=True).stdout
    requests = simulator.run().requests
    assert requests is not None
    assert requests.arrival_ns.tolist() == [int(line.split()[0]) for line in lines[1:]]
    fates = [requests.fates[fate] for fate in requests.fate]
    assert {"served", "queue-full" if length < 50 else "time-out"} <= set(fates) and 2000 < fates.count("served") < 6000
    assert requests.start_ns.tobytes() + requests.end_ns.tobytes() + requests.fate.tobytes() == decided


SCENARIO: Dict[str, Any] = {
    "seats": 20,
    "seed": 3,
    "duration": "20s",
    "clients": [
        {
            "name": "lists",
            "user": "alice",
            "groups": ["system:authenticated"],
            "request": {"verb": "list", "resource": "pods", "namespace": "dev"},
            "closed": {"threads": 8, "think": "10ms"},
            "exec": {"exponential": "50ms"},
            "seats": 2,
        },
        {
            "name": "stranger",
            "user": "nobody",
            "request": {"path": "/api/v1/pods"},
            "open": {"rate": 100},
            "exec": "30ms",
        },
    ],
}


def test_a_scenario_gives_what_the_command_line_gives_byte_for_byte(tmp_path: pathlib.Path) -> None:
    cli = tool("APF_CLI")
    file = tmp_path / "scenario.yaml"
    file.write_text(json.dumps(SCENARIO))
    expected = subprocess.run([cli, "simulate", str(file), "-o", "json"], capture_output=True, check=True)
    for scenario in [apf_core.Scenario(SCENARIO), apf_core.Scenario(file.read_text()), apf_core.Scenario.load(file)]:
        assert scenario.run().to_json().encode() == expected.stdout
        assert scenario.run(requests=True).to_json().encode() == expected.stdout
    other = subprocess.run(
        [cli, "simulate", str(file), "-o", "json", "--seed", "9", "--exact"], capture_output=True, check=True
    )
    assert apf_core.Scenario(SCENARIO).run(seed=9, mode="exact").to_json().encode() == other.stdout


def test_a_replay_gives_what_the_command_line_gives_byte_for_byte() -> None:
    cli = tool("APF_CLI")
    log = LOG
    flags = ["--seats", "3", "--list-seats", "2", "--durations", "list=50ms", "--request-timeout", "20s"]
    expected = subprocess.run([cli, "replay", str(log), "-o", "json", *flags], capture_output=True, check=True)
    run = apf_core.replay(
        log, seats=3, list_seats=2, durations={"list": 0.05}, request_timeout=20.0, requests=True
    )
    assert run.to_json().encode() == expected.stdout
    assert run.requests is not None and len(run.requests) == run.report["replayed"]["requests"] > 0
    again = apf_core.replay([log.read_bytes()], seats=3, list_seats=2, durations="list=50ms", request_timeout=20.0)
    assert again.levels == run.levels and again.requests is None


def test_tables_are_columns_and_rows() -> None:
    run = apf_core.Scenario(SCENARIO).run()
    assert run.duration == 20.0 and run.notes == []
    assert run.clients["client"] == ["lists", "stranger"]
    assert run.row("clients", "lists")["requests"] == run.clients["requests"][0] > 0
    assert run.row("levels", "catch-all")["rejected_concurrency_limit"] > 0
    assert run.row("schemas", "global-default")["level"] == "global-default"
    assert len(run.adjustments["level"]) == len(run.adjustments["at_s"]) >= len(run.levels["level"])
    with pytest.raises(KeyError):
        run.row("levels", "nowhere")


def test_the_columns_of_requests_are_shared_with_numpy_not_copied() -> None:
    numpy = pytest.importorskip("numpy")
    requests = apf_core.Scenario(SCENARIO).run(requests=True).requests
    assert requests is not None
    kinds = {"arrival_ns": "int64", "start_ns": "int64", "end_ns": "int64", "wait_ns": "int64"}
    kinds.update(seats="uint32", level="uint32", schema="uint32", client="uint32", fate="uint8")
    for name, kind in kinds.items():
        column = getattr(requests, name)
        values = numpy.asarray(column)
        assert (values.dtype.name, len(values)) == (kind, len(requests))
        assert numpy.shares_memory(values, numpy.asarray(column))
        assert values.tolist() == column.tolist()
    arrival, start = numpy.asarray(requests.arrival_ns), numpy.asarray(requests.start_ns)
    end, wait = numpy.asarray(requests.end_ns), numpy.asarray(requests.wait_ns)
    began = start >= 0
    assert (wait[began] == (start - arrival)[began]).all()
    refused = ~began & (end >= 0)
    assert refused.any() and (wait[refused] == (end - arrival)[refused]).all()


def test_a_frame_of_pandas_has_the_names_in_place_of_their_numbers() -> None:
    pytest.importorskip("pandas")
    run = apf_core.Scenario(SCENARIO).run(requests=True)
    frame = run.frame("requests")
    assert set(frame["client"].unique()) == {"lists", "stranger"}
    assert (frame["fate"] == "served").sum() > 0
    assert list(run.frame("levels")["level"]) == run.levels["level"]
    with pytest.raises(ValueError, match="requests=True"):
        apf_core.Scenario(SCENARIO).run().frame("requests")


def test_submitted_requests_keep_their_rows_whatever_the_order_of_their_times() -> None:
    simulator = apf_core.Simulator(LEVEL % (1, 1, 50), seats=1, built_in="mandatory", wait_limit=60.0)
    alice = apf_core.Request(verb="get", resource="pods", user="alice")
    bob = apf_core.Request(verb="get", resource="pods", user="bob", wait_limit=1.0)
    assert simulator.submit(alice, 5.0, 1.0) == 0
    assert simulator.submit(alice, 0.0, 4.0, client="early") == 1
    assert simulator.submit(bob, 1.0, 1.0) == 2
    assert simulator.submit_many(alice, array.array("d", [10.0, 10.0]), [2.0, 2.0]) == 3
    assert simulator.submit(alice, 10.5, 1.0, cancel_after=0.25) == 5
    assert len(simulator) == 6
    run = simulator.run()
    requests = run.requests
    assert requests is not None
    assert [at / 1e9 for at in requests.end_ns] == [6.0, 4.0, 2.0, 12.0, 14.0, 10.75]
    assert [requests.fates[fate] for fate in requests.fate] == [
        "served",
        "served",
        "time-out",
        "served",
        "served",
        "cancelled",
    ]
    assert [requests.clients[client] for client in requests.client][:3] == ["alice", "early", "bob"]
    assert run.duration == 14.0
    assert simulator.run().to_json() == run.to_json()


def test_what_cannot_be_submitted_is_refused_by_name() -> None:
    simulator = apf_core.Simulator()
    alice = apf_core.Request(verb="get", resource="pods", user="alice")
    with pytest.raises(ValueError, match="at"):
        simulator.submit(alice, -1.0, 1.0)
    with pytest.raises(ValueError, match="2 values and execution 1"):
        simulator.submit_many(alice, [1.0, 2.0], [1.0])
    with pytest.raises(TypeError, match="doubles"):
        simulator.submit_many(alice, array.array("f", [1.0]), [1.0])
    with pytest.raises(ValueError, match="execution"):
        simulator.submit_many(alice, [1.0, 2.0], [1.0, float("inf")])
    assert len(simulator) == 0 and len(simulator.run().requests or []) == 0


def test_a_fairness_scenario_is_checked() -> None:
    rows: List[Dict[str, Any]] = [
        {
            "name": "two-equal-flows",
            "level": {"queues": 9, "hand_size": 1, "queue_length_limit": 8, "concurrency_limit": 4},
            "eval": "50s",
            "clients": [
                {"hash": 1001001001, "threads": 8, "calls": 20, "exec": "1s", "think": "1s-1ns"},
                {"hash": 2002002002, "threads": 8, "calls": 20, "exec": "1s", "think": "1s-1ns"},
            ],
            "expect": [{"fair": True, "margin": 0.01}],
            "all_requests": True,
        }
    ]
    scenario = apf_core.Scenario(rows)
    (row,) = scenario.check()["rows"]
    assert row["holds"] is True
    with pytest.raises(TypeError, match="checked, not run"):
        scenario.run()
    with pytest.raises(apf_core.SimulationError, match="no expectations"):
        apf_core.Scenario(SCENARIO).check()


def test_a_scenario_that_breaks_a_rule_is_refused_with_its_place(tmp_path: pathlib.Path) -> None:
    with pytest.raises(apf_core.SimulationError) as caught:
        apf_core.Scenario("seats: 5\nduration: x\n")
    assert (caught.value.source, caught.value.line, caught.value.column) == ("scenario", 2, 11)
    with pytest.raises(apf_core.SimulationError, match="cannot be read"):
        apf_core.Scenario.load(tmp_path / "nowhere.yaml")
    with pytest.raises(apf_core.SimulationError, match="cannot"):
        apf_core.replay(tmp_path / "nowhere.log")
    with pytest.raises(TypeError):
        apf_core.Scenario(5)  # type: ignore[arg-type]
    with pytest.raises(apf_core.ConfigError):
        apf_core.Simulator("kind: FlowSchema", seats=5)


def test_manifests_are_looked_up_in_the_folder_given(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.yaml").write_text(LEVEL % (8, 2, 5))
    scenario = dict(SCENARIO, manifests=["own.yaml"])
    assert "traced" in apf_core.Scenario(scenario, folder=tmp_path).run().levels["level"]


@pytest.mark.skipif(sys.platform == "win32", reason="threads")
def test_a_run_lets_other_threads_work() -> None:
    scenario = apf_core.Scenario(dict(SCENARIO, duration="2000s"))
    finished = threading.Event()

    def work() -> None:
        scenario.run()
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    turns = 0
    while not finished.is_set():
        turns += 1
    thread.join()
    assert turns > 1000
