"""Admission from one thread: what is given, held, refused and given back."""

from __future__ import annotations

import gc
import inspect
import pathlib
import pickle
import time
from typing import Any, Dict, List, Type

import pytest
from helpers import ONE_SEAT, in_use, one_seat

import apf_core

ONE_LEVEL_MORE = ONE_SEAT % "Reject"


def test_a_permit_tells_where_it_went_and_gives_its_seat_back_once() -> None:
    d = apf_core.Dispatcher(seats=600)
    request = apf_core.Request(
        verb="list", resource="pods", namespace="dev", user="alice", groups=["system:authenticated"]
    )
    permit = d.try_admit(request)
    assert (permit.level, permit.schema, permit.seats) == ("global-default", "global-default", 1)
    assert permit.waited == 0.0
    assert in_use(d, "global-default") == 1
    permit.release()
    assert in_use(d, "global-default") == 0
    permit.release()
    assert in_use(d, "global-default") == 0
    assert permit.level == "global-default"


def test_a_with_block_gives_the_seat_back_also_when_it_raises(alice: apf_core.Request) -> None:
    d = one_seat()
    with pytest.raises(ZeroDivisionError), d.admit_blocking(alice) as permit:
        assert in_use(d) == 1
        assert permit.level == "narrow"
        1 / 0
    assert in_use(d) == 0


def test_a_permit_that_nobody_has_any_more_gives_its_seat_back(alice: apf_core.Request) -> None:
    d = one_seat()
    permit = d.try_admit(alice)
    del permit
    gc.collect()
    assert in_use(d) == 0


def test_a_refusal_says_why_where_and_for_how_long(alice: apf_core.Request) -> None:
    d = one_seat()
    with d.try_admit(alice):
        with pytest.raises(apf_core.Rejected) as caught:
            d.try_admit(alice)
    refused = caught.value
    assert (refused.reason, refused.retry_after) == ("concurrency-limit", 1)
    assert (refused.level, refused.schema) == ("narrow", "narrow")
    assert "concurrency-limit" in str(refused)
    again = pickle.loads(pickle.dumps(refused))
    assert again.args == refused.args and again.level == "narrow"


def test_a_blocking_wait_ends_at_the_time_out_of_the_call(alice: apf_core.Request) -> None:
    d = one_seat()
    with d.admit_blocking(alice):
        begun = time.monotonic()
        with pytest.raises(apf_core.Rejected) as caught:
            d.admit_blocking(alice, timeout=0.1)
    assert caught.value.reason == "time-out"
    assert 0.1 <= time.monotonic() - begun < 5


def test_the_shortest_of_the_wait_limits_counts() -> None:
    clock = apf_core.ManualClock()
    d = one_seat(clock=clock, queue_wait_limits={"narrow": 0.0})
    request = apf_core.Request(verb="get", path="/healthz", user="a", wait_limit=100.0)
    with d.try_admit(request):
        with pytest.raises(apf_core.Rejected) as caught:
            d.admit_blocking(request, timeout=50.0)
    assert caught.value.reason == "time-out"


def test_attributes_may_be_keywords_or_a_prebuilt_request() -> None:
    d = one_seat()
    attributes: Dict[str, Any] = dict(verb="list", resource="pods", user="alice", groups=("a", "b"))
    with d.try_admit(**attributes) as permit:
        assert permit.level == "narrow"
    with d.try_admit(apf_core.Request(**attributes)) as permit:
        assert permit.level == "narrow"
    with d.admit_blocking(verb="get", path="/version", user="bob"):
        pass


@pytest.mark.parametrize(
    ("attributes", "error", "words"),
    [
        (dict(resource="pods"), TypeError, "verb"),
        (dict(verb="list"), TypeError, "either resource or path"),
        (dict(verb="list", resource="pods", path="/x"), TypeError, "either resource or path"),
        (dict(verb="get", path="/x", namespace="dev"), TypeError, "belong to a resource"),
        (dict(verb="list", resource="pods", colour="red"), TypeError, '"colour"'),
        (dict(verb="list", resource="pods", groups="system:masters"), TypeError, "not one str"),
        (dict(verb="list", resource=b"pods"), TypeError, "resource must be a str, not bytes"),
        (dict(verb="list", resource="pods", seats=0), ValueError, "at least 1"),
        (dict(verb="list", resource="pods", seats=4194304), ValueError, "4194304"),
        (dict(verb="list", resource="pods", final_seats=-1), ValueError, "-1"),
        (dict(verb="list", resource="pods", wait_limit=-1.0), ValueError, "wait_limit"),
        (dict(verb="list", resource="pods", additional_latency=float("nan")), ValueError, "NaN"),
    ],
)
def test_attributes_that_make_no_request_are_refused_by_name(
    attributes: Dict[str, Any], error: Type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        apf_core.Request(**attributes)
    with pytest.raises(error, match=words):
        one_seat().try_admit(**attributes)


def test_a_request_shows_what_it_was_made_of_and_cannot_be_changed() -> None:
    request = apf_core.Request(
        verb="update",
        resource="leases",
        api_group="coordination.k8s.io",
        subresource="status",
        namespace="kube-system",
        name="x",
        user="u",
        groups=["g"],
        seats=2,
        final_seats=3,
        additional_latency=0.005,
        wait_limit=1.5,
    )
    assert (request.verb, request.resource, request.api_group) == ("update", "leases", "coordination.k8s.io")
    assert (request.subresource, request.namespace, request.name) == ("status", "kube-system", "x")
    assert (request.user, request.groups, request.is_resource_request) == ("u", ("g",), True)
    assert (request.seats, request.final_seats) == (2, 3)
    assert (request.additional_latency, request.wait_limit) == (0.005, 1.5)
    with pytest.raises(AttributeError):
        request.verb = "get"  # type: ignore[misc]


def test_a_url_is_read_as_kube_apiserver_reads_it() -> None:
    request = apf_core.Request.from_url(
        "GET", "/apis/apps/v1/namespaces/dev/deployments?limit=500", user="alice", seats=3
    )
    assert (request.verb, request.api_group, request.resource) == ("list", "apps", "deployments")
    assert (request.namespace, request.user, request.seats) == ("dev", "alice", 3)
    assert apf_core.Request.from_url("GET", "/healthz").path == "/healthz"
    with pytest.raises(ValueError, match="hexadecimal"):
        apf_core.Request.from_url("GET", "/%zz")
    with pytest.raises(TypeError, match="verb"):
        apf_core.Request.from_url("GET", "/", verb="list")  # type: ignore[call-arg]


def test_a_configuration_may_be_text_bytes_files_folders_or_objects(tmp_path: pathlib.Path) -> None:
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "batch"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
    }
    file = tmp_path / "level.json"
    file.write_text(str(level).replace("'", '"'))
    text = file.read_text()
    configs: List[Any] = [text, text.encode(), file, tmp_path, level, [level], [file]]
    for config in configs:
        assert "batch" in apf_core.Dispatcher(config).stats().levels
    with pytest.raises(TypeError, match="int is not a text"):
        apf_core.Dispatcher(5)  # type: ignore[arg-type]
    with pytest.raises(apf_core.ConfigError, match="nowhere"):
        apf_core.Dispatcher(tmp_path / "nowhere.yaml")


def test_a_refused_configuration_lists_object_field_rule_message_and_line() -> None:
    text = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: tight}
spec:
  type: Limited
  limited: {lendablePercent: 101, limitResponse: {type: Reject}}
"""
    with pytest.raises(apf_core.ConfigError) as caught:
        apf_core.Dispatcher(text)
    (finding,) = caught.value.findings
    assert finding.object == "PriorityLevelConfiguration/tight"
    assert finding.field == "spec.limited.lendablePercent"
    assert finding.rule == "Invalid value"
    assert finding.message.endswith("must be between 0 and 100, inclusive")
    assert (finding.source, finding.line, finding.column) == ("config", 7, 13)
    assert str(caught.value) == str(finding)


def test_seats_and_choices_are_checked() -> None:
    with pytest.raises(apf_core.ConfigError, match="from 1 to"):
        apf_core.Dispatcher(seats=0)
    for option in ["mode", "flow_hash", "built_in"]:
        with pytest.raises(ValueError, match=option):
            apf_core.Dispatcher(**{option: "odd"})  # type: ignore[arg-type]


def test_reconfiguring_moves_prebuilt_requests_to_their_new_level() -> None:
    d = apf_core.Dispatcher(built_in="mandatory")
    request = apf_core.Request(verb="list", resource="pods", user="alice")
    for _ in range(3):
        with d.try_admit(request) as permit:
            assert permit.level == "catch-all"
    other = one_seat()
    with other.try_admit(request) as permit:
        assert permit.level == "narrow"
    with d.try_admit(request) as permit:
        assert permit.level == "catch-all"
        d.reconfigure(built_in="suggested")
        with d.try_admit(request) as second:
            assert second.level == "catch-all"
    d.reconfigure(ONE_LEVEL_MORE)
    with d.try_admit(request) as permit:
        assert permit.level == "narrow"
    with pytest.raises(apf_core.ConfigError, match="already defined"):
        d.reconfigure([ONE_LEVEL_MORE, ONE_LEVEL_MORE])
    with d.try_admit(request) as permit:
        assert permit.level == "narrow"


def test_what_takes_no_part_is_named() -> None:
    schema = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: lost}
spec: {priorityLevelConfiguration: {name: nowhere}, matchingPrecedence: 5}
"""
    (sentence,) = apf_core.Dispatcher(schema).left_out()
    assert '"lost"' in sentence and "nowhere" in sentence


def test_stats_are_values_that_stay_as_they_were(alice: apf_core.Request) -> None:
    d = one_seat()
    with d.try_admit(alice):
        with pytest.raises(apf_core.Rejected):
            d.try_admit(alice)
        during = d.stats()
    after = d.stats()
    level = during.levels["narrow"]
    assert (level.level, level.seats_in_use, level.requests_executing) == ("narrow", 1, 1)
    assert (level.current_limit, level.seat_utilization) == (1, 1.0)
    assert (during.levels["narrow"].seats_in_use, after.levels["narrow"].seats_in_use) == (1, 0)
    (schema,) = [s for s in after.schemas if s.schema == "narrow"]
    assert (schema.arrived, schema.dispatched, schema.requests_executing) == (2, 1, 0)
    assert schema.rejected == {"queue-full": 0, "concurrency-limit": 1, "time-out": 0, "cancelled": 0}
    assert (schema.executed.count, sum(schema.executed.counts)) == (1, 1)
    assert len(schema.executed.bounds) + 1 == len(schema.executed.counts)


def test_a_request_that_lingers_keeps_its_seats_for_its_additional_latency() -> None:
    clock = apf_core.ManualClock()
    d = one_seat(clock=clock)
    request = apf_core.Request(
        verb="create", resource="pods", user="a", final_seats=1, additional_latency=0.005
    )
    d.try_admit(request).release()
    clock.set(0.004)
    assert in_use(d) == 1
    clock.set(0.005)
    assert (in_use(d), clock.now()) == (0, 0.005)
    assert d.next_timer() == 10.0


def test_uids_are_those_of_the_objects_and_empty_for_built_in_ones() -> None:
    d = one_seat()
    assert (d.level_uid("narrow"), d.schema_uid("narrow")) == ("uid-of-the-level", "uid-of-the-schema")
    assert (d.level_uid("catch-all"), d.schema_uid("nowhere")) == ("", "")


def test_calls_that_name_no_request_are_refused(alice: apf_core.Request) -> None:
    d: Any = one_seat()
    for call in [d.try_admit, d.admit_blocking, d.admit]:
        for arguments, keywords in [((), {}), ((None,), {}), ((5,), {}), ((alice, alice), {}), ((alice,), {"verb": "get"})]:
            with pytest.raises(TypeError):
                call(*arguments, **keywords)
        with pytest.raises(TypeError, match="colour"):
            call(verb="get", path="/", colour="red")
    with pytest.raises(TypeError):
        apf_core.Dispatcher.try_admit(5, alice)  # type: ignore[arg-type]
    assert in_use(d) == 0
    assert d.try_admit(None, verb="get", path="/", user="u").level == "narrow"
    assert str(inspect.signature(d.try_admit)) == "(request=None, /, **attributes)"
