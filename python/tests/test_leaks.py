"""Nothing is left behind by a request, whichever way it went."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from typing import Callable, Optional, Tuple

import pytest
from helpers import in_use, one_seat

import apf_core


def resident() -> int:
    """Bytes of memory that this process has in use."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096
    except OSError:
        pytest.skip("this system does not say how much memory is in use")


def grows(work: Callable[[], None]) -> Tuple[int, int, int]:
    """Python's memory blocks, its objects under garbage collection, and bytes, that `work` leaves the second time."""
    work()
    gc.collect()
    before = sys.getallocatedblocks(), len(gc.get_objects()), resident()
    work()
    gc.collect()
    after = sys.getallocatedblocks(), len(gc.get_objects()), resident()
    return (after[0] - before[0], after[1] - before[1], after[2] - before[2])


def is_flat(growth: Tuple[int, int, int]) -> bool:
    blocks, objects, size = growth
    return blocks < 200 and objects < 100 and size < 2 << 20


def test_memory_is_flat_over_a_million_admissions(alice: apf_core.Request) -> None:
    d = one_seat()
    references = sys.getrefcount(d), sys.getrefcount(alice)

    def work() -> None:
        for _ in range(500_000):
            d.try_admit(alice).release()

    assert is_flat(growth := grows(work)), growth
    assert (sys.getrefcount(d), sys.getrefcount(alice)) == references
    assert in_use(d) == 0 and d._nodes_in_use == 0


def test_memory_is_flat_over_refusals_keywords_and_blocks(alice: apf_core.Request) -> None:
    d = one_seat()

    def work() -> None:
        for _ in range(20_000):
            with d.admit_blocking(verb="get", path="/x", user="u", groups=["g"]) as permit:
                assert permit.level == "narrow"
                try:
                    d.try_admit(alice)
                except apf_core.Rejected as refused:
                    assert refused.level == "narrow"
                try:
                    d.try_admit(alice, verb="get")
                except TypeError:
                    pass

    assert is_flat(growth := grows(work)), growth
    assert d._nodes_in_use == 0


def test_memory_is_flat_over_waits_in_a_loop(alice: apf_core.Request) -> None:
    d = one_seat()

    async def client(timeout: Optional[float]) -> None:
        try:
            async with d.admit(alice, timeout=timeout):
                await asyncio.sleep(0)
        except apf_core.Rejected:
            pass

    async def main() -> None:
        for _ in range(40):
            tasks = [asyncio.ensure_future(client(0.0 if n % 5 == 0 else None)) for n in range(50)]
            await asyncio.sleep(0)
            for task in tasks[::7]:
                task.cancel()
            await asyncio.wait(tasks)

    def work() -> None:
        asyncio.run(main())

    work()
    assert is_flat(growth := grows(work)), growth
    assert in_use(d) == 0 and d._nodes_in_use == 0


def test_memory_is_flat_over_stats_dumps_and_runs() -> None:
    d = one_seat()
    simulator = apf_core.Simulator(seats=10)
    request = apf_core.Request(verb="get", resource="pods", user="u")
    for number in range(100):
        simulator.submit(request, number / 100, 0.1)

    def work() -> None:
        for _ in range(100):
            d.stats()
            d.prometheus()
            d.dump("queues")
            d.reconfigure()
            requests = simulator.run().requests
            assert requests is not None and len(requests) == 100
            try:
                d.reconfigure("kind: FlowSchema")
            except apf_core.ConfigError:
                pass

    work()
    assert is_flat(growth := grows(work)), growth


def test_dispatchers_that_come_and_go_take_their_threads_along() -> None:
    if not os.path.isdir("/proc/self/task"):
        pytest.skip("this system does not list threads")
    before = len(os.listdir("/proc/self/task"))
    for _ in range(20):
        d = one_seat()
        d.try_admit(verb="get", path="/", user="u").release()
    assert len(os.listdir("/proc/self/task")) <= before + 20
    del d
    over = time.monotonic() + 5
    while len(os.listdir("/proc/self/task")) > before and time.monotonic() < over:
        time.sleep(0.01)
    assert len(os.listdir("/proc/self/task")) <= before
