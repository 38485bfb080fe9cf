"""Pictures of a run: seats in use, waits and refusals over time. ``pip install 'apf_core[plot]'``.

Each function draws into the axes it is given, or into new ones, and returns them. The run must have kept its requests
(``requests=True``; a simulator always does).
"""

from __future__ import annotations

from typing import Any, List, Literal, Optional, Sequence, Tuple

import matplotlib.pyplot as pyplot
import numpy
import numpy.typing
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from apf_core._run import Requests, Run

__all__ = ["overview", "rejections", "seats", "waits"]

_By = Literal["level", "schema", "client"]
_NS = 1e-9


def seats(run: Run, axes: Optional[Axes] = None, *, by: _By = "level", only: Optional[Sequence[str]] = None, bins: int = 100) -> Axes:
    """Seats in use, averaged over each of ``bins`` pieces of the run.

    By level, a dashed line of the same colour is the level's current limit.

    :param by: ``level``, ``schema`` or ``client``: what a line stands for.
    :param only: names to draw, in this order; all that had requests unless given.
    """
    requests, axes = _requests(run), _axes(axes)
    edges = _edges(run, bins)
    for name, chosen in _groups(requests, by, only):
        used = numpy.asarray(requests.start_ns)[chosen] >= 0
        starts = numpy.asarray(requests.start_ns)[chosen][used] * _NS
        ends = numpy.asarray(requests.end_ns)[chosen][used] * _NS
        widths = numpy.asarray(requests.seats)[chosen][used].astype(float)
        ends = numpy.where(ends < 0, edges[-1], ends)
        average = _average(starts, ends, widths, edges)
        (line,) = axes.plot(_middles(edges), average, label=name)
        if by == "level":
            _draw_limit(run, name, axes, line.get_color(), edges[-1])
    return _finish(axes, edges, "seats in use")


def waits(run: Run, axes: Optional[Axes] = None, *, by: _By = "level", only: Optional[Sequence[str]] = None, bins: int = 100) -> Axes:
    """The longest wait, seconds, among the requests that began or were refused in each piece of the run."""
    requests, axes = _requests(run), _axes(axes)
    edges = _edges(run, bins)
    for name, chosen in _groups(requests, by, only):
        wait = numpy.asarray(requests.wait_ns)[chosen]
        over = wait >= 0
        at = (numpy.asarray(requests.arrival_ns)[chosen] + wait)[over] * _NS
        longest = numpy.full(bins, -1.0)
        numpy.maximum.at(longest, _bin_of(at, edges), wait[over] * _NS)
        # Where nothing ended there is nothing to show.
        some = longest >= 0
        axes.plot(_middles(edges)[some], longest[some], ".-", label=name)
    return _finish(axes, edges, "longest wait, s")


def rejections(run: Run, axes: Optional[Axes] = None, *, by: _By = "level", only: Optional[Sequence[str]] = None, bins: int = 100) -> Axes:
    """Refusals a second, by reason."""
    requests, axes = _requests(run), _axes(axes)
    edges = _edges(run, bins)
    fate, end = numpy.asarray(requests.fate), numpy.asarray(requests.end_ns)
    styles = {"queue-full": "-", "time-out": "--", "concurrency-limit": "-.", "cancelled": ":"}
    for index, (name, chosen) in enumerate(_groups(requests, by, only)):
        for reason, style in styles.items():
            refused = chosen & (fate == requests.fates.index(reason))
            if refused.any():
                counts, _ = numpy.histogram(end[refused] * _NS, edges)
                rate = counts / (edges[1] - edges[0])
                axes.plot(_middles(edges), rate, style, color=f"C{index % 10}", label=f"{name}: {reason}")
    return _finish(axes, edges, "refusals a second")


def overview(run: Run, *, by: _By = "level", only: Optional[Sequence[str]] = None, bins: int = 100, title: str = "") -> Figure:
    """All three, one above the other."""
    figure, rows = pyplot.subplots(3, 1, sharex=True, figsize=(10, 9), layout="constrained")
    for draw, row in zip((seats, waits, rejections), rows):
        draw(run, row, by=by, only=only, bins=bins)
    rows[0].set_title(title)
    rows[2].set_xlabel("simulated time, s")
    for row in rows[:2]:
        row.set_xlabel("")
    return figure


def _requests(run: Run) -> Requests:
    if run.requests is None:
        raise ValueError("the run has kept no requests: run it with requests=True")
    return run.requests


def _axes(axes: Optional[Axes]) -> Axes:
    return pyplot.subplots(layout="constrained")[1] if axes is None else axes


def _edges(run: Run, bins: int) -> "numpy.typing.NDArray[Any]":
    return numpy.linspace(0.0, max(run.duration, _NS), bins + 1)


def _middles(edges: "numpy.typing.NDArray[Any]") -> "numpy.typing.NDArray[Any]":
    return numpy.asarray((edges[1:] + edges[:-1]) / 2)


def _bin_of(at: "numpy.typing.NDArray[Any]", edges: "numpy.typing.NDArray[Any]") -> "numpy.typing.NDArray[Any]":
    return numpy.clip(numpy.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)


def _groups(
    requests: Requests, by: _By, only: Optional[Sequence[str]]
) -> List[Tuple[str, "numpy.typing.NDArray[Any]"]]:
    """Name and mask of each line. Clients of one name are one."""
    names: Tuple[str, ...] = getattr(requests, by + "s")
    column = numpy.asarray(getattr(requests, by))
    wanted = dict.fromkeys(names) if only is None else only
    groups = []
    for name in wanted:
        numbers = [number for number, other in enumerate(names) if other == name]
        if not numbers:
            raise ValueError(f"there is no {by} {name!r}")
        mask = numpy.isin(column, numbers)
        if only is not None or mask.any():
            groups.append((name, mask))
    return groups


def _average(
    starts: "numpy.typing.NDArray[Any]",
    ends: "numpy.typing.NDArray[Any]",
    widths: "numpy.typing.NDArray[Any]",
    edges: "numpy.typing.NDArray[Any]",
) -> "numpy.typing.NDArray[Any]":
    """Seats in use over time are a step function; its integral at the edges gives the averages exactly."""
    times = numpy.concatenate([starts, ends, edges])
    steps = numpy.concatenate([widths, -widths, numpy.zeros(len(edges))])
    order = numpy.argsort(times, kind="stable")
    times, steps = times[order], steps[order]
    area = numpy.concatenate([[0.0], numpy.cumsum(numpy.cumsum(steps)[:-1] * numpy.diff(times))])
    return numpy.asarray(numpy.diff(numpy.interp(edges, times, area)) / numpy.diff(edges))


def _draw_limit(run: Run, level: str, axes: Axes, colour: Any, end: float) -> None:
    table = run.adjustments
    rows = [(at, limit) for at, name, limit in zip(table["at_s"], table["level"], table["current"]) if name == level]
    if rows:
        times, limits = zip(*rows)
        axes.step([*times, end], [*limits, limits[-1]], "--", where="post", color=colour, alpha=0.5, linewidth=1)


def _finish(axes: Axes, edges: "numpy.typing.NDArray[Any]", label: str) -> Axes:
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label)
    axes.set_xlabel("simulated time, s")
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="upper right", fontsize="small")
    return axes
