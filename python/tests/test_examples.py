"""The examples run, and show what they say."""

from __future__ import annotations

import asyncio
import http.client
import importlib.util
import pathlib
import socket
import subprocess
import sys
import time
from typing import Any, Iterator

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tutorial_draws_its_pictures_and_each_change_does_what_it_says(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(sys, "argv", ["podlister.py", str(tmp_path)])
    results = example("podlister").main()
    pictures = sorted(tmp_path.glob("podlister-*.png"))
    assert [picture.name for picture in pictures] == [f"podlister-{number}.png" for number in range(1, 9)]
    for picture in pictures:
        content = picture.read_bytes()
        assert content.startswith(b"\x89PNG") and len(content) > 20_000
    assert results["shared"]["neighbour_wait"] > 1 > 0.01 > results["own"]["neighbour_wait"]
    assert results["own"]["queue_full"] > 100
    assert results["longer"]["queue_full"] == 0
    assert results["longer"]["time_out"] > results["own"]["time_out"]
    for better in ("borrowing", "shares"):
        assert 0 < results[better]["queue_full"] < results["own"]["queue_full"]
        assert 0 < results[better]["time_out"] < results["own"]["time_out"]
    assert results["many queues"]["quiet_wait"] < 2 < results["few queues"]["quiet_wait"]
    assert results["one flow"]["quiet_wait"] > 2


@pytest.fixture
def service() -> Iterator[int]:
    """`examples/service.py` under uvicorn; its port."""
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "warning"]
    server = subprocess.Popen(command, cwd=EXAMPLES)
    try:
        over = time.monotonic() + 20
        while True:
            assert server.poll() is None and time.monotonic() < over
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(20)


def get(port: int, path: str, user: str = "") -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"X-User": user} if user else {})
        response = connection.getresponse()
        response.body = response.read()  # type: ignore[attr-defined]
        return response
    finally:
        connection.close()


def test_the_service_answers_under_uvicorn(service: int) -> None:
    page = get(service, "/pages/x", "alice")
    assert page.status == 200 and b'"level":"pages"' in page.body  # type: ignore[attr-defined]
    assert page.getheader("x-kubernetes-pf-flowschema-uid") == ""
    metrics = get(service, "/metrics").body.decode()  # type: ignore[attr-defined]
    assert 'apiserver_flowcontrol_dispatched_requests_total{flow_schema="pages",priority_level="pages"} 1' in metrics
    dump = get(service, "/debug/priority_levels").body.decode()  # type: ignore[attr-defined]
    assert dump.startswith("PriorityLevelName")


def test_the_simulator_agrees_with_a_load_test(service: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    load_test = example("load_test")
    calls, execution = asyncio.run(load_test.run_load("127.0.0.1", service, 2.5))
    measured, outcomes = load_test.compare(calls, execution)
    served = measured["greedy", "served"]
    assert served > 5 and measured["greedy", "refused"] > served
    assert measured["reader", "served"] > 10 and measured["reader", "refused"] == 0
    assert abs(outcomes[20]["greedy", "served"] - served) <= max(4, served * 0.35)
    assert outcomes[40]["greedy", "served"] > outcomes[20]["greedy", "served"]
    assert outcomes[20]["reader", "served"] == measured["reader", "served"]


def test_a_client_that_hangs_up_leaves_the_queue(service: int) -> None:
    """Through a real server: the request that waits is gone before its turn."""

    async def main() -> None:
        async def send(path: str) -> asyncio.StreamWriter:
            _, writer = await asyncio.open_connection("127.0.0.1", service)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nX-User: alice\r\n\r\n".encode())
            return writer

        writers = [await send("/reports/a") for _ in range(6)]
        await asyncio.sleep(0.1)
        for writer in writers[2:]:
            writer.close()
        await asyncio.sleep(0.5)
        for writer in writers[:2]:
            writer.close()

    asyncio.run(main())
    metrics = get(service, "/metrics").body.decode()  # type: ignore[attr-defined]
    assert 'apiserver_flowcontrol_dispatched_requests_total{flow_schema="reports",priority_level="reports"} 2' in metrics
    assert 'current_inqueue_requests{flow_schema="reports",priority_level="reports"} 0' in metrics
