"""Tuning a configuration on simulated time: three noisy clients, and what each change does.

    python podlister.py [FOLDER FOR THE PICTURES]

Three service accounts list the pods of one namespace, each with 1, 3, 10, and 25 callers at a time, and down again. A level of
their own keeps them away from everybody else. How should it be set up? Each step changes one thing, runs the same 48 seconds, and
draws a picture. Runs in a notebook too: a blank line ends a cell.
"""

import pathlib
import sys

import matplotlib

matplotlib.use("Agg")

import apf_core
from apf_core import plot

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
folder.mkdir(parents=True, exist_ok=True)

ACCOUNTS = ["podlister-0", "podlister-1", "podlister-2"]
# Callers of each account, and the seconds between which they are there.
WAVES = [(1, 0, 42), (2, 6, 36), (7, 12, 30), (15, 18, 24)]


def scenario(level=None, distinguisher="ByUser", noisy=ACCOUNTS):
    """The story, with the level of the listers as given; without one they are where everybody is."""
    clients = [
        {
            "name": "neighbour",
            "user": "system:serviceaccount:shop:web",
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "request": {"path": "/api/v1/namespaces/shop/configmaps/settings"},
            "closed": {"threads": 1, "think": "95ms"},
            "exec": "5ms",
        }
    ]
    for account in ACCOUNTS:
        for callers, start, stop in WAVES if account in noisy else WAVES[:1]:
            clients.append(
                {
                    "name": f"{account} x{callers}",
                    "user": f"system:serviceaccount:demo:{account}",
                    "groups": ["system:serviceaccounts", "system:authenticated"],
                    "request": {"path": "/api/v1/namespaces/demo/pods"},
                    "closed": {"threads": callers, "think": "300ms", "backoff": "1s"},
                    "exec": {"uniform": ["1400ms", "1600ms"]},
                    "seats": 2,
                    "start": f"{start}s",
                    "stop": f"{stop}s",
                }
            )
    story = {"seats": 60, "seed": 1, "duration": "48s", "wait_limit": "5s", "clients": clients}
    if level is not None:
        story["objects"] = OBJECTS.format(distinguisher=distinguisher, **level)
    return apf_core.Scenario(story)


OBJECTS = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {{name: restrict-pod-lister}}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: {shares}
    lendablePercent: 0
    borrowingLimitPercent: {borrowing}
    limitResponse:
      type: Queue
      queuing: {{queues: {queues}, handSize: {hand}, queueLengthLimit: {length}}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {{name: restrict-pod-lister}}
spec:
  matchingPrecedence: 1000
  priorityLevelConfiguration: {{name: restrict-pod-lister}}
  distinguisherMethod: {{type: {distinguisher}}}
  rules:
  - subjects:
    - {{kind: Group, group: {{name: "system:serviceaccounts"}}}}
    resourceRules:
    - {{apiGroups: [""], resources: ["pods"], verbs: ["list"], namespaces: ["demo"]}}
"""

LISTERS = "restrict-pod-lister"
START = dict(shares=60, borrowing=0, queues=10, hand=4, length=5)


def look(number, title, run):
    """One line of numbers, and a picture."""
    refused = {reason: 0 for reason in ("queue_full", "time_out")}
    for row in run.report["clients"]:
        if row["client"] != "neighbour":
            for reason in refused:
                refused[reason] += row[f"rejected_{reason}"]
    neighbour = run.row("clients", "neighbour")
    names = [name for name in run.levels["level"] if run.row("levels", name)["requests"]]
    figure = plot.overview(run, only=names, title=title)
    figure.savefig(folder / f"podlister-{number}.png", dpi=80)
    matplotlib.pyplot.close(figure)
    print(
        f"{number}. {title}\n   listers refused: {refused['queue_full']} queue full, {refused['time_out']} timed out;"
        f" neighbour: {neighbour['requests']} requests, longest wait {neighbour['wait_max_s'] * 1e3:.0f} ms"
    )
    return {**refused, "neighbour_wait": neighbour["wait_max_s"], "neighbour_requests": neighbour["requests"]}


def main():
    results = {}

    # 1. No level of their own. The listers share workload-low with every service account, the neighbour among them.
    run = scenario().run(requests=True)
    results["shared"] = look(1, "no level of their own: the neighbour waits with the listers", run)

    # 2. The level of the story: the neighbour is free of them. Queues of 5 overflow at 25 callers an account.
    run = scenario(START).run(requests=True)
    results["own"] = look(2, "a level of their own, queueLengthLimit 5", run)

    # 3. Longer queues. Nobody is refused at once any more; instead more wait for their 5 seconds in vain.
    run = scenario({**START, "length": 20}).run(requests=True)
    results["longer"] = look(3, "queueLengthLimit 20: more wait, and more of them in vain", run)

    # 4. The level may borrow what others leave. More run; each adjustment of the limits (every 10 s) shows.
    run = scenario({**START, "borrowing": 100}).run(requests=True)
    results["borrowing"] = look(4, "borrowingLimitPercent 100", run)

    # 5. More shares: the same without depending on others.
    run = scenario({**START, "shares": 160}).run(requests=True)
    results["shares"] = look(5, "nominalConcurrencyShares 160", run)

    # 6. One account is noisy, two are quiet, each a flow with 4 of 10 queues. podlister-2 is unlucky with its 4: it waits behind others.
    one = ["podlister-0"]
    quiet = ["podlister-1 x1", "podlister-2 x1"]
    run = scenario(START, noisy=one).run(requests=True)
    results["few queues"] = look(6, "one noisy account, a flow for each user, 4 of 10 queues", run)
    results["few queues"]["quiet_wait"] = max(run.row("clients", name)["wait_max_s"] for name in quiet)

    # 7. With more queues to choose from, a quiet flow finds one that the noisy one is not in.
    many = {**START, "queues": 64, "hand": 6}
    run = scenario(many, noisy=one).run(requests=True)
    results["many queues"] = look(7, "one noisy account, a flow for each user, 6 of 64 queues", run)
    results["many queues"]["quiet_wait"] = max(run.row("clients", name)["wait_max_s"] for name in quiet)

    # 8. Told apart by namespace, the three are one flow: no number of queues helps the quiet ones.
    run = scenario(many, "ByNamespace", noisy=one).run(requests=True)
    results["one flow"] = look(8, "one noisy account, one flow for the namespace", run)
    results["one flow"]["quiet_wait"] = max(run.row("clients", name)["wait_max_s"] for name in quiet)
    for name in ("few queues", "many queues", "one flow"):
        print(f"   longest wait of the quiet accounts, {name}: {results[name]['quiet_wait']:.2f} s")
    return results


if __name__ == "__main__":
    main()
