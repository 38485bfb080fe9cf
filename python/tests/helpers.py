"""What the tests share."""

from __future__ import annotations


import apf_core

ONE_SEAT = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: narrow, uid: uid-of-the-level}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 1
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: %s}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: narrow, uid: uid-of-the-schema}
spec:
  priorityLevelConfiguration: {name: narrow}
  matchingPrecedence: 2
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
"""
QUEUE = "Queue, queuing: {queues: 8, handSize: 1, queueLengthLimit: 20000}"



def one_seat(response: str = QUEUE, **options: object) -> apf_core.Dispatcher:
    """A dispatcher whose level `narrow`, where every request goes, has one seat."""
    return apf_core.Dispatcher(ONE_SEAT % response, seats=1, **options)  # type: ignore[arg-type]


def in_use(dispatcher: apf_core.Dispatcher, level: str = "narrow") -> int:
    return dispatcher.stats().levels[level].seats_in_use
