"""Waiting in trio: one file descriptor for all waiting requests of a run, watched by one task of the system's."""

from __future__ import annotations

import itertools
from typing import Any, Dict, Tuple

import trio

from apf_core._native import Admission, Completions


class _Hub:
    """The waiting requests of one run of trio."""

    def __init__(self) -> None:
        self.completions = Completions()
        self.waiting: Dict[int, Tuple[Admission, trio.lowlevel.Task]] = {}
        self.tokens = itertools.count()
        trio.lowlevel.spawn_system_task(self.drain, name="apf_core")

    async def drain(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self.completions.fileno())
            for token in self.completions.take():
                entry = self.waiting.get(token)
                if entry is not None and entry[0]._watch(self.completions, token):
                    # From here on the task runs on, whoever cancels it.
                    del self.waiting[token]
                    trio.lowlevel.reschedule(entry[1])


_hub: "trio.lowlevel.RunVar[_Hub]" = trio.lowlevel.RunVar("apf_core")


async def wait_in_trio(admission: Admission) -> None:
    try:
        hub = _hub.get()
    except LookupError:
        hub = _Hub()
        _hub.set(hub)
    token = next(hub.tokens)
    if admission._watch(hub.completions, token):
        return
    hub.waiting[token] = admission, trio.lowlevel.current_task()

    def abort(_: Any) -> trio.lowlevel.Abort:
        del hub.waiting[token]
        return trio.lowlevel.Abort.SUCCEEDED

    await trio.lowlevel.wait_task_rescheduled(abort)
