"""What a request costs, beside what Python has for the purpose.

    python cost.py [--simulate PATH OF THE COMMAND apf]

Slices of the peers take turns, and the fastest slice of each counts: on a busy machine the ratios hold where the times do not.
"""

import argparse
import asyncio
import json
import pathlib
import platform
import subprocess
import tempfile
import threading
import time
import timeit

import apf_core

REQUEST = dict(verb="list", resource="pods", namespace="dev", user="alice", groups=["system:authenticated"])


def calls(rounds=250, number=4000):
    """Nanoseconds a pair of calls."""
    dispatcher = apf_core.Dispatcher()
    names = dict(
        admit=dispatcher,
        request=apf_core.Request(**REQUEST),
        semaphore=threading.Semaphore(10),
        lock=threading.Lock(),
        attributes=REQUEST,
    )
    timers = {
        "threading.Lock acquire, release": "lock.acquire(); lock.release()",
        "threading.Semaphore acquire, release": "semaphore.acquire(); semaphore.release()",
        "try_admit, release: prebuilt": "admit.try_admit(request).release()",
        "try_admit, release: keywords": "admit.try_admit(**attributes).release()",
        "with admit_blocking: prebuilt": "with admit.admit_blocking(request): pass",
    }
    best = dict.fromkeys(timers, float("inf"))
    for _ in range(rounds):
        for name, statement in timers.items():
            elapsed = timeit.timeit(statement, globals=names, number=number)
            best[name] = min(best[name], elapsed / number * 1e9)
    return best


async def blocks(rounds=60, number=4000):
    """Nanoseconds an uncontended block in an event loop."""
    dispatcher, request = apf_core.Dispatcher(), apf_core.Request(**REQUEST)
    semaphore = asyncio.Semaphore(10)

    async def peer():
        for _ in range(number):
            async with semaphore:
                pass

    async def ours():
        for _ in range(number):
            async with dispatcher.admit(request):
                pass

    best = {"asyncio.Semaphore block": float("inf"), "async with admit: prebuilt": float("inf")}
    for _ in range(rounds):
        for name, work in zip(best, (peer, ours)):
            begun = time.perf_counter()
            await work()
            best[name] = min(best[name], (time.perf_counter() - begun) / number * 1e9)
    return best


def simulation(cli, rounds=5):
    """Seconds for a million requests."""
    clients = [
        {
            "name": f"client-{number}",
            "user": f"user-{number}",
            "groups": ["system:authenticated"],
            "request": {"verb": "get", "resource": "pods", "namespace": "dev"},
            "open": {"rate": 250},
            "exec": {"exponential": "30ms"},
        }
        for number in range(4)
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "million.json"
        file.write_text(json.dumps({"seats": 200, "seed": 1, "duration": "1000s", "clients": clients}))
        ways = {
            "apf simulate": lambda: subprocess.run(
                [cli, "simulate", str(file), "-o", "json"], stdout=subprocess.DEVNULL, check=True
            ),
            "Scenario.run": lambda: apf_core.Scenario.load(file).run(),
            "Scenario.run with requests": lambda: apf_core.Scenario.load(file).run(requests=True),
        }
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(rounds):
            for name, way in ways.items():
                begun = time.perf_counter()
                way()
                best[name] = min(best[name], time.perf_counter() - begun)
    return best


def aim(text, measured, bound, at_most):
    met = measured <= bound if at_most else measured >= bound
    print(f"  {text}: {'at most' if at_most else 'at least'} {bound}; measured {measured:.2f}: {'met' if met else 'MISSED'}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--simulate", metavar="APF")
    cli = arguments.parse_args().simulate
    print(f"CPython {platform.python_version()}")
    best = calls()
    best.update(asyncio.run(blocks()))
    for name, nanoseconds in best.items():
        print(f"  {name:<40} {nanoseconds:7.0f} ns")
    ours = best["try_admit, release: prebuilt"]
    aim("times faster than threading.Semaphore", best["threading.Semaphore acquire, release"] / ours, 5, at_most=False)
    aim("times threading.Lock", ours / best["threading.Lock acquire, release"], 1.5, at_most=True)
    block = best["async with admit: prebuilt"] / best["asyncio.Semaphore block"]
    aim("times asyncio.Semaphore's block", block, 1.5, at_most=True)
    if cli:
        best = simulation(cli)
        for name, seconds in best.items():
            print(f"  {name:<40} {seconds:7.3f} s for 1,000,000 requests")
        for name in ("Scenario.run", "Scenario.run with requests"):
            aim(f"{name}: times the command line", best[name] / best["apf simulate"], 1.3, at_most=True)


if __name__ == "__main__":
    main()
