"""A collector for ``prometheus_client``: ``pip install 'apf_core[prometheus]'``."""

from __future__ import annotations

from typing import Iterable

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector as _Collector

from apf_core._native import Dispatcher

__all__ = ["Collector"]


class Collector(_Collector):
    """The metrics of a dispatcher under kube-apiserver's names: ``REGISTRY.register(Collector(dispatcher))``.

    Each collection reads them afresh. Without ``prometheus_client``, :meth:`apf_core.Dispatcher.prometheus` is the text.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    def collect(self) -> Iterable[Metric]:
        return text_string_to_metric_families(self._dispatcher.prometheus())

    def describe(self) -> Iterable[Metric]:
        """The families without their samples, so that registering reads nothing twice."""
        for family in self.collect():
            family.samples = []
            yield family
