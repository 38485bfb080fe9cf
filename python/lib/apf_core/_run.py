"""What a run on simulated time gave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

if TYPE_CHECKING:
    import pandas


class Requests:
    """The requests of a run, as columns: a replay's and a scenario's in the order of their arrivals, a simulator's in the
    order they were submitted.

    Each column is a ``memoryview``: ``numpy.asarray(column)`` copies nothing, ``column.tolist()`` makes a list. Times are
    nanoseconds of simulated time; -1 stands for never, or not before the end of the run.
    """

    arrival_ns: memoryview
    """When it arrived."""
    start_ns: memoryview
    """When it began to execute."""
    end_ns: memoryview
    """When its seats came back, or it was refused."""
    wait_ns: memoryview
    """How long it waited until it began or was refused."""
    seats: memoryview
    """The seats that it held, or wanted."""
    level: memoryview
    """Its level: an index into :attr:`levels`."""
    schema: memoryview
    """Its FlowSchema: an index into :attr:`schemas`."""
    client: memoryview
    """Its client or user: an index into :attr:`clients`."""
    fate: memoryview
    """What became of it: an index into :attr:`fates`."""
    levels: Tuple[str, ...]
    """Names of the levels."""
    schemas: Tuple[str, ...]
    """Names of the FlowSchemas."""
    clients: Tuple[str, ...]
    """Names of the clients or users."""
    fates: Tuple[str, ...]
    """``waiting``, ``executing``, ``served``, and the reasons of refusals."""

    def __init__(self, columns: Dict[str, Any]) -> None:
        self.__dict__.update(columns)

    def __len__(self) -> int:
        return len(self.fate)


class Run:
    """What a run gave. Times in tables are seconds of simulated time."""

    def __init__(self, text: str, columns: Optional[Dict[str, Any]]) -> None:
        self._text = text
        self.report: Dict[str, Any] = json.loads(text)
        """Everything, as ``apf simulate -o json`` or ``apf replay -o json`` prints it."""
        self.requests: Optional[Requests] = None if columns is None else Requests(columns)
        """What became of each request, where it was asked for."""

    def to_json(self) -> str:
        """The text that ``apf simulate -o json`` or ``apf replay -o json`` prints, byte for byte."""
        return self._text

    @property
    def duration(self) -> float:
        """Length of the run, seconds."""
        return float(self.report["duration_s"])

    @property
    def notes(self) -> List[str]:
        """Assumptions that the numbers rest on."""
        return list(self.report["notes"])

    @property
    def levels(self) -> Dict[str, List[Any]]:
        """Per priority level, as columns."""
        return _columns(self.report["levels"])

    @property
    def schemas(self) -> Dict[str, List[Any]]:
        """Per FlowSchema, as columns."""
        return _columns(self.report["schemas"])

    @property
    def clients(self) -> Dict[str, List[Any]]:
        """Per client or user, as columns."""
        return _columns(self.report["clients"])

    @property
    def adjustments(self) -> Dict[str, List[Any]]:
        """How the limits moved, as columns: one row a level and adjustment."""
        rows = [
            {"at_s": adjustment["at_s"], "cause": adjustment["cause"], **level}
            for adjustment in self.report["adjustments"]
            for level in adjustment["levels"]
        ]
        return _columns(rows)

    def row(self, table: str, name: str) -> Dict[str, Any]:
        """The row of one level, FlowSchema or client: ``run.row("levels", "workload-low")``."""
        for row in self.report[table]:
            if row[table[:-1]] == name:
                return dict(row)
        raise KeyError(name)

    def frame(self, table: str) -> "pandas.DataFrame":
        """``levels``, ``schemas``, ``clients``, ``adjustments`` or ``requests`` as a pandas data frame."""
        import pandas

        if table != "requests":
            return pandas.DataFrame(getattr(self, table))
        if self.requests is None:
            raise ValueError("the run has kept no requests: run it with requests=True")
        import numpy

        of = self.requests
        names = {"level": of.levels, "schema": of.schemas, "client": of.clients, "fate": of.fates}
        columns: Dict[str, Any] = {}
        for name in ("arrival_ns", "start_ns", "end_ns", "wait_ns", "seats"):
            columns[name] = numpy.asarray(getattr(of, name))
        for name, values in names.items():
            columns[name] = pandas.Categorical.from_codes(numpy.asarray(getattr(of, name)), pandas.Index(values))
        return pandas.DataFrame(columns)


def _columns(rows: List[Dict[str, Any]]) -> Dict[str, List[Any]]:
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
