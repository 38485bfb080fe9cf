"""Admission from several threads: the interpreter's lock is let go of while waiting."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from typing import List

import pytest
from helpers import ONE_SEAT, QUEUE, in_use, one_seat

import apf_core


def test_a_thread_that_waits_does_not_keep_the_interpreter(alice: apf_core.Request) -> None:
    """Case H8: the holder of the seat needs the interpreter to release it."""
    d = one_seat()
    held = d.admit_blocking(alice)
    order: List[str] = []

    def second() -> None:
        with d.admit_blocking(alice):
            order.append("second runs")

    thread = threading.Thread(target=second)
    begun = time.monotonic()
    thread.start()
    while not d.stats().levels["narrow"].requests_waiting:
        time.sleep(0.001)
    order.append("first releases")
    held.release()
    thread.join(5)
    assert not thread.is_alive()
    assert order == ["first releases", "second runs"]
    assert time.monotonic() - begun < 1


def test_eight_threads_share_one_seat_without_a_deadlock(alice: apf_core.Request) -> None:
    """Case L13; APF_TEST_SECONDS makes it longer."""
    d = one_seat()
    over = time.monotonic() + float(os.environ.get("APF_TEST_SECONDS", "2"))
    holders = 0
    counts = [0] * 8
    wrong: List[str] = []

    def work(number: int) -> None:
        nonlocal holders
        dice = random.Random(number)
        while time.monotonic() < over:
            try:
                kind = dice.randrange(4)
                if kind == 0:
                    permit = d.try_admit(alice)
                elif kind == 1:
                    permit = d.admit_blocking(alice, timeout=dice.random() * 0.002)
                else:
                    permit = d.admit_blocking(alice)
            except apf_core.Rejected:
                continue
            with permit:
                holders += 1
                if holders != 1:
                    wrong.append(f"{holders} holders")
                if dice.random() < 0.1:
                    time.sleep(0)
                holders -= 1
            counts[number] += 1
            if dice.random() < 0.01:
                d.stats()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60 + over - time.monotonic())
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert all(counts), counts
    assert in_use(d) == 0 and d._nodes_in_use == 0


def test_reconfiguring_and_reading_while_eight_threads_admit(alice: apf_core.Request) -> None:
    d = apf_core.Dispatcher(seats=20)
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            try:
                d.admit_blocking(alice, timeout=0.01).release()
            except apf_core.Rejected:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + 1.5
    rounds = 0
    while time.monotonic() < end:
        d.reconfigure(built_in="mandatory" if rounds % 2 else "suggested")
        assert sum(level.requests_executing for level in d.stats().levels.values()) <= 8
        rounds += 1
    over.set()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert rounds > 10
    assert sum(level.seats_in_use for level in d.stats().levels.values()) == 0


def test_a_signal_ends_the_wait_of_the_main_thread() -> None:
    program = """
import apf_core, signal, sys
d = apf_core.Dispatcher(seats=1, built_in="mandatory", config=sys.argv[1])
r = dict(verb="get", path="/", user="u")
held = d.admit_blocking(**r)
print("waits", flush=True)
try:
    d.admit_blocking(**r)
except KeyboardInterrupt:
    print("interrupted", d.stats().levels["narrow"].requests_waiting)
held.release()
print(d.stats().levels["narrow"].seats_in_use)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program, ONE_SEAT % QUEUE], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "waits\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=10)
    assert rest == "interrupted 0\n0\n"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_told_that_its_dispatcher_does_not_serve_it(alice: apf_core.Request) -> None:
    d = one_seat()
    held = d.try_admit(alice)
    child = os.fork()
    if child == 0:
        try:
            d.admit_blocking(alice)
        except apf_core.ForkedError:
            os._exit(7)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WEXITSTATUS(status) == 7
    held.release()
    assert in_use(d) == 0
