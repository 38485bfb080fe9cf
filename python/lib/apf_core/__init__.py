"""Kubernetes API Priority and Fairness for Python: admission, simulation, replay.

:class:`Dispatcher` is where to begin.
"""

from apf_core._errors import ConfigError, Error, ForkedError, Rejected, SimulationError
from apf_core._native import (
    Admission,
    Dispatcher,
    Finding,
    Histogram,
    LevelStats,
    ManualClock,
    Permit,
    Request,
    Scenario,
    SchemaStats,
    Simulator,
    Stats,
    replay,
)
from apf_core._run import Requests, Run

__all__ = [
    "Admission",
    "ConfigError",
    "Dispatcher",
    "Error",
    "Finding",
    "ForkedError",
    "Histogram",
    "LevelStats",
    "ManualClock",
    "Permit",
    "Rejected",
    "Request",
    "Requests",
    "Run",
    "Scenario",
    "SchemaStats",
    "SimulationError",
    "Simulator",
    "Stats",
    "replay",
]
