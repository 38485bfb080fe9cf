"""Metrics and dumps."""

from __future__ import annotations

from typing import Any, Dict

import pytest
from helpers import one_seat

import apf_core


def test_the_metrics_are_those_of_kube_apiserver(alice: apf_core.Request) -> None:
    d = one_seat()
    with d.try_admit(alice):
        with pytest.raises(apf_core.Rejected):
            d.try_admit(alice)
        text = d.prometheus()
    labels = 'flow_schema="narrow",priority_level="narrow"'
    assert f"apiserver_flowcontrol_dispatched_requests_total{{{labels}}} 1\n" in text
    assert f"apiserver_flowcontrol_current_executing_requests{{{labels}}} 1\n" in text
    assert 'reason="concurrency-limit"} 1\n' in text


def test_a_registry_of_prometheus_client_collects_the_same_samples(alice: apf_core.Request) -> None:
    client = pytest.importorskip("prometheus_client")
    from apf_core.prometheus import Collector

    d = one_seat()
    d.try_admit(alice).release()
    registry = client.CollectorRegistry()
    registry.register(Collector(d))
    collected = client.generate_latest(registry).decode()

    def samples(text: str) -> Dict[Any, float]:
        from prometheus_client.parser import text_string_to_metric_families

        found = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                labels = {name: float(v) if name == "le" else v for name, v in sample.labels.items()}
                found[sample.name, frozenset(labels.items())] = sample.value
        return found

    ours, theirs = samples(d.prometheus()), samples(collected)
    assert len(ours) > 100 and ours.keys() == theirs.keys()
    # Other metrics sum up time, which goes on between the two.
    steady = ("dispatched_requests_total", "request_execution_seconds", "request_wait_duration_seconds")
    counts = [key for key in ours if any(name in key[0] for name in steady)]
    assert len(counts) > 30 and all(ours[key] == theirs[key] for key in counts)
    with pytest.raises(ValueError, match="Duplicated"):
        registry.register(Collector(d))


def test_dumps_name_levels_queues_and_requests(alice: apf_core.Request) -> None:
    d = one_seat(keep_details=True)
    with d.try_admit(alice):
        waiting = d.admit(alice)
        levels, queues = d.dump("priority_levels"), d.dump("queues")
        requests = d.dump("requests", details=True)
        assert waiting.waiting
    (row,) = [line for line in levels.splitlines() if line.startswith("narrow,")]
    assert [cell.strip() for cell in row.split(",")][4:6] == ["1", "1"]
    assert len([line for line in queues.splitlines() if line.startswith("narrow,")]) == 8
    rows = [line for line in requests.splitlines() if line.startswith("narrow,")]
    assert len(rows) == 2 and all("alice" in row and "pods" in row and "dev" in row for row in rows)
    with pytest.raises(ValueError, match="none of"):
        d.dump("everything")  # type: ignore[arg-type]


def test_the_averages_of_a_picture_are_those_of_the_report() -> None:
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    from apf_core import plot

    simulator = apf_core.Simulator(seats=20)
    request = apf_core.Request(
        verb="list", resource="pods", user="u", groups=["system:authenticated"], seats=2, additional_latency=0.3
    )
    for number in range(50):
        simulator.submit(request, number * 0.37 % 7, 0.5 + number % 3)
    run = simulator.run()
    axes = plot.seats(run, bins=7)
    (line, limit) = axes.get_lines()
    average = float(numpy.mean(line.get_ydata()))
    assert abs(average - run.row("levels", "global-default")["seats_avg"]) < 1e-9
    assert limit.get_linestyle() == "--"
    for draw in (plot.waits, plot.rejections):
        draw(run, by="client", only=["u"])
    with pytest.raises(ValueError, match="no client 'v'"):
        plot.waits(run, by="client", only=["v"])
    with pytest.raises(ValueError, match="requests=True"):
        plot.seats(apf_core.Scenario(EMPTY).run())
    pyplot.close("all")


EMPTY = "{seats: 5, duration: 1s, clients: [{name: a, user: a, request: {path: /}, open: {rate: 1}, exec: 1ms}]}"
