"""Waiting in an event loop: one file descriptor for all waiting requests of a loop, and no thread."""

from __future__ import annotations

import asyncio
import itertools
import sys
import weakref
from typing import Dict, Tuple

from apf_core._native import Admission, Completions, Permit


class _Hub:
    """The waiting requests of one loop.

    The loop keeps it alive, by the reader that it has registered: what waits in a loop that is closed goes with it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.completions = Completions()
        self.waiting: Dict[int, Tuple[Admission, "asyncio.Future[None]"]] = {}
        self.tokens = itertools.count()
        loop.add_reader(self.completions.fileno(), self.drain)

    def drain(self) -> None:
        """Called once for all requests that have been decided since the last time."""
        for token in self.completions.take():
            entry = self.waiting.get(token)
            if entry is None:
                continue  # it has given up
            admission, future = entry
            if admission._watch(self.completions, token) and not future.done():
                future.set_result(None)


_hubs: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Hub]]" = weakref.WeakKeyDictionary()


def _hub_of(loop: asyncio.AbstractEventLoop) -> _Hub:
    known = _hubs.get(loop)
    hub = None if known is None else known()
    if hub is None:
        try:
            hub = _Hub(loop)
        except NotImplementedError:
            raise RuntimeError(
                f"{type(loop).__name__} cannot watch file descriptors, which waiting needs: "
                "use a selector event loop or uvloop"
            ) from None
        _hubs[loop] = weakref.ref(hub)
    return hub


async def wait(admission: Admission) -> Permit:
    """Waits until the request is decided. Cancelled at any point, it gives its place or its seats back."""
    try:
        if _in_trio():
            from apf_core._trio import wait_in_trio

            await wait_in_trio(admission)
        else:
            await _wait_in_asyncio(admission)
        return admission._take()
    except BaseException:
        admission._abandon()
        raise


async def _wait_in_asyncio(admission: Admission) -> None:
    loop = asyncio.get_running_loop()
    hub = _hub_of(loop)
    token = next(hub.tokens)
    if not admission._watch(hub.completions, token):
        future = loop.create_future()
        hub.waiting[token] = admission, future
        try:
            await future
        finally:
            del hub.waiting[token]


def _in_trio() -> bool:
    trio = sys.modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True
