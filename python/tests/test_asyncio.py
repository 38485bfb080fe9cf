"""Admission in an event loop: what wakes whom, and what becomes of a seat when a task is cancelled."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import threading
import time
from typing import Any, Callable, Coroutine, List

import pytest
from helpers import in_use, one_seat

import apf_core

Main = Callable[[], Coroutine[Any, Any, None]]


def _plain(main: Main) -> None:
    asyncio.run(main())


def _uvloop(main: Main) -> None:
    uvloop = pytest.importorskip("uvloop")
    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()


@pytest.fixture(params=[_plain, _uvloop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Main], None]:
    runner: Callable[[Main], None] = request.param
    return runner


def nothing_is_left(d: apf_core.Dispatcher) -> bool:
    gc.collect()
    return in_use(d) == 0 and d.stats().levels["narrow"].requests_waiting == 0 and d._nodes_in_use == 0


async def settle(steps: int = 20) -> None:
    for _ in range(steps):
        await asyncio.sleep(0)


def test_the_block_holds_a_seat_and_nothing_else_does(run: Callable[[Main], None], alice: apf_core.Request) -> None:
    d = one_seat()

    async def main() -> None:
        async with d.admit(alice) as permit:
            assert (permit.level, permit.seats, in_use(d)) == ("narrow", 1, 1)
        assert in_use(d) == 0
        permit = await d.admit(alice)
        assert in_use(d) == 1
        with permit:
            pass
        with pytest.raises(ZeroDivisionError):
            async with d.admit(alice):
                1 / 0
        assert nothing_is_left(d)

    run(main)


def test_waiting_requests_are_served_in_turn(run: Callable[[Main], None], alice: apf_core.Request) -> None:
    d = one_seat()
    holders = 0
    served: List[int] = []

    async def client(number: int) -> None:
        nonlocal holders
        async with d.admit(alice):
            holders += 1
            assert holders == 1
            await asyncio.sleep(0)
            holders -= 1
        served.append(number)

    async def main() -> None:
        await asyncio.gather(*map(client, range(100)))
        assert served == list(range(100))
        assert nothing_is_left(d)

    run(main)


def test_one_release_wakes_one_of_ten_thousand(run: Callable[[Main], None], alice: apf_core.Request) -> None:
    d = one_seat(queue_wait_limit=600.0)
    resumed: List[apf_core.Permit] = []

    async def client() -> None:
        resumed.append(await d.admit(alice))

    async def main() -> None:
        held = d.try_admit(alice)
        threads = threading.active_count()
        tasks = [asyncio.ensure_future(client()) for _ in range(10_000)]
        await settle()
        assert d.stats().levels["narrow"].requests_waiting == 10_000
        assert threading.active_count() == threads
        held.release()
        for expected in range(1, 4):
            await asyncio.sleep(0.05)
            assert len(resumed) == expected
            assert in_use(d) == 1
            resumed[-1].release()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for permit in resumed:
            permit.release()
        assert nothing_is_left(d)

    run(main)


def test_a_task_cancelled_at_any_step_gives_its_place_or_its_seat_back(
    run: Callable[[Main], None], alice: apf_core.Request
) -> None:
    """Case H2: between the grant and the task that it is for there are several steps of the loop."""
    outcomes = set()

    async def client(d: apf_core.Dispatcher) -> None:
        async with d.admit(alice):
            await asyncio.sleep(0)

    async def attempt(d: apf_core.Dispatcher, before: int, after: int) -> None:
        held = d.try_admit(alice)
        task = asyncio.ensure_future(client(d))
        await settle(before)
        held.release()
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        outcomes.add("cancelled" if task.cancelled() else "served")
        assert nothing_is_left(d), (before, after)
        d.try_admit(alice).release()

    async def main() -> None:
        d = one_seat()
        for before in range(0, 5):
            for after in range(0, 12):
                await attempt(d, before, after)

    run(main)
    assert outcomes == {"cancelled", "served"}


def test_a_grant_that_a_cancelled_task_does_not_take_goes_to_the_next(
    run: Callable[[Main], None], alice: apf_core.Request
) -> None:
    async def client(d: apf_core.Dispatcher, log: List[str], name: str) -> None:
        async with d.admit(alice):
            log.append(name)

    async def main() -> None:
        for after in range(8):
            d = one_seat()
            log: List[str] = []
            held = d.try_admit(alice)
            first = asyncio.ensure_future(client(d, log, "first"))
            await settle()
            second = asyncio.ensure_future(client(d, log, "second"))
            await settle()
            held.release()
            await settle(after)
            first.cancel()
            await asyncio.wait_for(second, 5)
            await asyncio.wait([first])
            assert log[-1] == "second"
            assert nothing_is_left(d)

    run(main)


def test_no_seat_is_held_twice_or_lost_in_a_storm_of_cancellations(
    run: Callable[[Main], None], alice: apf_core.Request
) -> None:
    """Cases H2 and L13: cancellations, time-outs and attempts without waiting, at random."""
    d = one_seat()
    dice = random.Random(7)
    holders = served = 0

    async def client() -> None:
        nonlocal holders, served
        for _ in range(40):
            try:
                timeout = dice.choice([None, 0.0, 0.001, 0.003])
                if dice.random() < 0.2:
                    permit = d.try_admit(alice)
                else:
                    permit = await asyncio.wait_for(d.admit(alice, timeout=timeout), dice.choice([None, 0.002]))
            except (apf_core.Rejected, asyncio.TimeoutError):
                await asyncio.sleep(0)
                continue
            with permit:
                holders += 1
                assert holders == 1
                for _ in range(dice.randrange(3)):
                    await asyncio.sleep(0)
                served += 1
                holders -= 1

    async def main() -> None:
        await asyncio.gather(*(client() for _ in range(50)))
        await settle()
        assert nothing_is_left(d)

    run(main)
    assert served > 100


def test_time_outs_and_releases_in_the_same_tick_keep_the_books_right(alice: apf_core.Request) -> None:
    """Case H12: 50 clients with time-outs of 1 to 5 ms; requests are served all the time."""
    d = one_seat()
    dice = random.Random(12)
    over = time.monotonic() + float(os.environ.get("APF_TEST_SECONDS", "3"))
    served: List[float] = []
    timed_out = 0

    async def client() -> None:
        nonlocal timed_out
        while time.monotonic() < over:
            try:
                async with d.admit(alice, timeout=dice.uniform(0.001, 0.005)):
                    await asyncio.sleep(dice.uniform(0.0005, 0.002))
                    served.append(time.monotonic())
            except apf_core.Rejected as refused:
                assert refused.reason == "time-out"
                timed_out += 1

    async def main() -> None:
        served.append(time.monotonic())
        await asyncio.gather(*(client() for _ in range(50)))
        assert nothing_is_left(d)

    asyncio.run(main())
    longest = max(after - before for before, after in zip(served, served[1:]))
    assert len(served) > 100 and timed_out > 100
    assert longest < 0.5


def test_many_admissions_without_a_yield_are_all_served(alice: apf_core.Request) -> None:
    """Case L13: an admission that need not wait does not depend on the loop getting a turn."""
    d = one_seat()

    async def main() -> None:
        for _ in range(10_000):
            async with d.admit(alice):
                pass
            async with d.admit(alice):
                with pytest.raises(apf_core.Rejected):
                    d.try_admit(alice)
        assert nothing_is_left(d)

    asyncio.run(main())


def test_a_release_in_a_thread_wakes_the_loop(run: Callable[[Main], None], alice: apf_core.Request) -> None:
    d = one_seat()

    async def main() -> None:
        held = d.try_admit(alice)
        timer = threading.Timer(0.05, held.release)
        timer.start()
        async with d.admit(alice) as permit:
            assert permit.waited >= 0.03
        timer.join()

    run(main)


def test_a_request_that_cannot_be_admitted_raises_when_it_is_awaited(alice: apf_core.Request) -> None:
    d = one_seat("Reject")

    async def main() -> None:
        with d.try_admit(alice):
            refused = d.admit(alice)
            with pytest.raises(apf_core.Rejected) as caught:
                async with refused:
                    pytest.fail("it must not run")
            assert caught.value.reason == "concurrency-limit"
            with pytest.raises(RuntimeError, match="once"):
                await refused

    asyncio.run(main())


def test_an_admission_gives_one_permit() -> None:
    d = one_seat()

    async def main() -> None:
        admission = d.admit(verb="get", path="/", user="u")
        (await admission).release()
        with pytest.raises(RuntimeError, match="once"):
            await admission

    asyncio.run(main())


def test_an_admission_that_nobody_awaits_gives_everything_back(alice: apf_core.Request) -> None:
    d = one_seat()
    admitted = d.admit(alice)
    waiting = d.admit(alice)
    assert d.stats().levels["narrow"].requests_waiting == 1
    assert "waiting" in repr(waiting) and "admitted" in repr(admitted)
    del waiting
    assert d.stats().levels["narrow"].requests_waiting == 0
    del admitted
    assert nothing_is_left(d)


def test_what_waits_in_a_loop_that_is_closed_goes_with_it(run: Callable[[Main], None], alice: apf_core.Request) -> None:
    d = one_seat()
    held = d.try_admit(alice)
    loop = asyncio.new_event_loop()

    async def client() -> None:
        async with d.admit(alice):
            pass

    task = loop.create_task(client())
    loop.run_until_complete(settle())
    assert d.stats().levels["narrow"].requests_waiting == 1
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    del task, loop
    held.release()
    assert nothing_is_left(d)


def test_a_loop_that_cannot_watch_descriptors_is_named(alice: apf_core.Request) -> None:
    class Poor(asyncio.SelectorEventLoop):
        def add_reader(self, *_: object) -> None:
            raise NotImplementedError

    d = one_seat()

    async def main() -> None:
        with d.try_admit(alice):
            with pytest.raises(RuntimeError, match="Poor cannot watch"):
                async with d.admit(alice):
                    pass
            assert d.stats().levels["narrow"].requests_waiting == 0

    loop = Poor()
    loop._make_self_pipe = lambda: None  # type: ignore[attr-defined]
    try:
        loop.run_until_complete(main())
    finally:
        loop.close()
