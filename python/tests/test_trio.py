"""Admission in trio, and in anyio on both of its loops."""

from __future__ import annotations

import threading
from typing import Any, List

import pytest
from helpers import in_use, one_seat

import apf_core

trio = pytest.importorskip("trio")
anyio = pytest.importorskip("anyio")
wait_all_tasks_blocked = pytest.importorskip("trio.testing").wait_all_tasks_blocked


def test_waiting_requests_are_served_in_turn(alice: apf_core.Request) -> None:
    d = one_seat()
    served: List[int] = []

    async def client(number: int) -> None:
        async with d.admit(alice):
            assert in_use(d) == 1
            await trio.lowlevel.checkpoint()
            served.append(number)

    async def main() -> None:
        held = d.try_admit(alice)
        async with trio.open_nursery() as nursery:
            for number in range(200):
                nursery.start_soon(client, number)
            await wait_all_tasks_blocked()
            threading.Timer(0.02, held.release).start()

    trio.run(main)
    assert sorted(served) == list(range(200))
    assert in_use(d) == 0 and d._nodes_in_use == 0


def test_a_task_cancelled_at_any_step_gives_its_place_or_its_seat_back(alice: apf_core.Request) -> None:
    outcomes = set()

    async def client(d: apf_core.Dispatcher, scope: Any) -> None:
        with scope:
            async with d.admit(alice):
                await trio.lowlevel.checkpoint()
        outcomes.add("cancelled" if scope.cancelled_caught else "served")

    async def main() -> None:
        for before in range(4):
            for after in range(8):
                d = one_seat()
                held = d.try_admit(alice)
                scope = trio.CancelScope()
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(client, d, scope)
                    for _ in range(before):
                        await trio.lowlevel.checkpoint()
                    held.release()
                    for _ in range(after):
                        await trio.lowlevel.checkpoint()
                    scope.cancel()
                assert in_use(d) == 0 and d._nodes_in_use == 0, (before, after)

    trio.run(main)
    assert outcomes == {"cancelled", "served"}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_anyio_times_out_and_passes_the_seat_on(backend: str, alice: apf_core.Request) -> None:
    d = one_seat()
    served: List[str] = []

    async def client() -> None:
        async with d.admit(alice) as permit:
            served.append(permit.level)

    async def main() -> None:
        with d.try_admit(alice):
            with anyio.move_on_after(0.02) as scope:
                await client()
            assert scope.cancelled_caught
            assert d.stats().levels["narrow"].requests_waiting == 0
            with pytest.raises(apf_core.Rejected):
                async with d.admit(alice, timeout=0.01):
                    pass
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(client)

    anyio.run(main, backend=backend)
    assert served == ["narrow"] * 5
    assert in_use(d) == 0 and d._nodes_in_use == 0
