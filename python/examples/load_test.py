"""A load test that asks the simulator what the server's priority and fairness would have done with the same requests.

    uvicorn service:app &                 # examples/service.py
    python load_test.py 127.0.0.1 8000

It sends reports and pages by a few users at once, plain asyncio and no harness around it. Each request is noted: who, what, when, and
how long the server needs for it when nobody waits. Afterwards the same arrivals go through a simulated server, once with the service's
configuration, which should agree with what was seen, and once with more seats, to see what these would have changed. In locust, note
the same in a listener of ``events.request`` and run the simulator in one of ``events.quitting``.
"""

import asyncio
import sys
import time
from collections import Counter
from typing import NamedTuple

from apf_core import Request, Simulator

from service import CONFIG


class Call(NamedTuple):
    user: str
    path: str
    at: float
    status: int


async def get(host, port, path, user):
    """One request on a connection of its own; answers its status."""
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-User: {user}\r\nConnection: close\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    await reader.read()
    writer.close()
    return status


async def run_load(host, port, seconds):
    """Who sent what when, and how long each path takes when nobody waits."""
    execution = {}
    for path in ("/reports/a", "/pages/a"):
        begun = time.perf_counter()
        await get(host, port, path, "warm-up")
        execution[path] = time.perf_counter() - begun
    calls = []
    origin = time.perf_counter()

    async def caller(user, path, think):
        while time.perf_counter() - origin < seconds:
            at = time.perf_counter() - origin
            calls.append(Call(user, path, at, await get(host, port, path, user)))
            await asyncio.sleep(think)

    greedy = [caller("greedy", "/reports/a", 0.05) for _ in range(12)]
    patient = [caller("patient", "/reports/a", 0.3)]
    readers = [caller(f"reader-{n}", "/pages/a", 0.05) for n in range(3)]
    await asyncio.gather(*greedy, *patient, *readers)
    return calls, execution


def simulate(calls, execution, seats):
    """What a server of so many seats does with these arrivals: answers by user and outcome."""
    simulator = Simulator(CONFIG, seats, built_in="mandatory")
    kinds = {}
    for call in calls:
        kind = kinds.setdefault(
            (call.user, call.path),
            Request(
                verb="get",
                path=call.path,
                user=call.user,
                groups=["customers"],
                seats=2 if call.path.startswith("/reports/") else 1,
            ),
        )
        simulator.submit(kind, call.at, execution[call.path])
    run = simulator.run()
    fates = [run.requests.fates[fate] for fate in run.requests.fate]
    return Counter((call.user.split("-")[0], fate) for call, fate in zip(calls, fates)), run


def compare(calls, execution):
    measured = Counter((call.user.split("-")[0], "served" if call.status == 200 else "refused") for call in calls)
    print("measured:           ", dict(sorted(measured.items())))
    outcomes = {}
    for seats in (20, 40):
        outcomes[seats], run = simulate(calls, execution, seats)
        waits = run.row("levels", "reports")
        print(f"simulated, {seats} seats:", dict(sorted(outcomes[seats].items())))
        print(f"    reports waited {waits['wait_p50_s']:.3f} s (median), {waits['wait_p99_s']:.3f} s (99th percentile)")
    return measured, outcomes


if __name__ == "__main__":
    host, port = sys.argv[1], int(sys.argv[2])
    compare(*asyncio.run(run_load(host, port, float(sys.argv[3]) if len(sys.argv) > 3 else 5.0)))
