"""The compiled part of the package. Import its names from :mod:`apf_core`."""

import os
from types import TracebackType
from typing import Any, Dict, Generator, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Type, Union, final

from typing_extensions import Self, TypedDict, Unpack

from apf_core._run import Run

__all__ = [
    "Admission",
    "Completions",
    "Dispatcher",
    "Done",
    "Finding",
    "Histogram",
    "LevelStats",
    "ManualClock",
    "Permit",
    "Request",
    "Scenario",
    "SchemaStats",
    "Simulator",
    "Stats",
    "replay",
]

_Mode = Literal["default", "exact"]
_BuiltIn = Literal["suggested", "mandatory"]
_Manifest = Union[str, bytes, "os.PathLike[str]", Dict[str, Any]]
_Config = Union[_Manifest, Sequence[_Manifest]]
_Path = Union[str, "os.PathLike[str]"]
_Log = Union[_Path, bytes]

class _Cost(TypedDict, total=False):
    seats: int
    final_seats: int
    additional_latency: float
    wait_limit: Optional[float]

class _Identity(_Cost, total=False):
    user: str
    groups: Iterable[str]

class _Attributes(_Identity, total=False):
    verb: str
    path: str
    resource: str
    subresource: str
    api_group: str
    api_version: str
    namespace: str
    name: str

@final
class Request:
    """Who asks for what, at what cost; it cannot be changed.

    Made once and admitted again and again, nothing is converted, and it is classified once a configuration.

    :param verb: the API's verb (``list``) for a resource, the lower-case HTTP method otherwise. Needed.
    :param resource: what is asked for, plural and lower-case; or
    :param path: the path of any other URL. One of the two is needed.
    :param user: user name, after authentication and impersonation.
    :param groups: the user's groups.
    :param api_group: API group, empty for the core group.
    :param api_version: API version; shown in dumps.
    :param subresource: subresource.
    :param namespace: namespace, empty for cluster-scoped requests.
    :param name: name of the object; shown in dumps.
    :param seats: seats while it executes, 1 to 4194303.
    :param final_seats: seats after its end, for ``additional_latency`` seconds; 0 to 4194303.
    :param additional_latency: how long it keeps its seats after its end, seconds.
    :param wait_limit: how long it may wait at most, seconds; the limit of its level applies besides.
    :raises TypeError: an attribute is missing, unknown, or of another type.
    :raises ValueError: a number is out of range.
    """

    def __new__(cls, **attributes: Unpack[_Attributes]) -> Self: ...
    @staticmethod
    def from_url(method: str, target: str, **attributes: Unpack[_Identity]) -> Request:
        """What an HTTP request asks for from a server with the URLs of the Kubernetes API.

        :param method: HTTP method, upper-case.
        :param target: path with query, as in the request line.
        :raises ValueError: the target is no path that can be read.
        """
    @property
    def user(self) -> str: ...
    @property
    def groups(self) -> Tuple[str, ...]: ...
    @property
    def verb(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def resource(self) -> str: ...
    @property
    def subresource(self) -> str: ...
    @property
    def api_group(self) -> str: ...
    @property
    def api_version(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def is_resource_request(self) -> bool:
        """Whether it is for a resource of the API."""
    @property
    def seats(self) -> int: ...
    @property
    def final_seats(self) -> int: ...
    @property
    def additional_latency(self) -> float: ...
    @property
    def wait_limit(self) -> Optional[float]: ...

@final
class Permit:
    """Seats in use. ``release``, the end of a ``with`` block, or the end of the object gives them back, once.

    With an additional latency they come back that much later.
    """

    @property
    def level(self) -> str:
        """The priority level."""
    @property
    def schema(self) -> str:
        """The FlowSchema."""
    @property
    def seats(self) -> int:
        """The seats: the larger of its initial and final ones."""
    @property
    def waited(self) -> float:
        """How long it waited, seconds; 0 when it was admitted at once."""
    def release(self) -> None:
        """Gives the seats back, also while the work goes on: for watches, whose cost ends with their initialisation.

        Doing so again changes nothing.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...

@final
class Admission:
    """A request on its way in. It took its place when it was made; awaiting it, once, gives its permit.

    Dropped or cancelled at any point, it gives its place in the queue back, or the seats that have been granted meanwhile.
    """

    @property
    def waiting(self) -> bool:
        """Whether it has to wait for its turn. Only awaiting it finds out that the turn has come."""
    def __await__(self) -> Generator[Any, Any, Permit]: ...
    async def __aenter__(self) -> Permit: ...
    async def __aexit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
        /,
    ) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> None: ...
    def _watch(self, completions: Completions, token: int) -> bool: ...
    def _take(self) -> Permit: ...
    def _abandon(self) -> None: ...

@final
class Dispatcher:
    """Admits requests by the rules of Kubernetes API Priority and Fairness.

    Every method may be called from any number of threads at once. A forked child makes a dispatcher of its own.

    :param config: FlowSchemas and PriorityLevelConfigurations: YAML or JSON text, paths of files and folders, objects as
        dicts, or a list of these. They are put over the built-in objects.
    :param seats: total seats of the server; kube-apiserver's are the sum of ``--max-requests-inflight`` and
        ``--max-mutating-requests-inflight``.
    :param built_in: ``suggested`` for the mandatory and the suggested objects, ``mandatory`` for the former alone.
    :param mode: ``exact`` for kube-apiserver's behaviour to the letter.
    :param flow_hash: ``sha256`` for the queues of kube-apiserver, ``xxh3``; the mode's unless given.
    :param queue_wait_limit: how long a request may wait in a queue, seconds.
    :param queue_wait_limits: the same for single levels, by name.
    :param keep_details: keeps of each request what dumps show, at a price.
    :param clock: a clock that the caller moves; then :meth:`run_timers` is the caller's to call.
    :raises ConfigError: an object is refused, an object is there twice, or ``seats`` is out of range.
    """

    def __new__(
        cls,
        config: Optional[_Config] = None,
        seats: int = 600,
        *,
        built_in: _BuiltIn = "suggested",
        mode: _Mode = "default",
        flow_hash: Optional[Literal["sha256", "xxh3"]] = None,
        queue_wait_limit: float = 15.0,
        queue_wait_limits: Optional[Mapping[str, float]] = None,
        keep_details: bool = False,
        clock: Optional[ManualClock] = None,
    ) -> Self: ...
    def try_admit(self, request: Optional[Request] = None, /, **attributes: Unpack[_Attributes]) -> Permit:
        """Admits a request now or not at all; a refusal counts as any other.

        :param request: the request, prebuilt; or its attributes as keyword arguments, as :class:`Request` takes them.
        :raises Rejected: it would have had to wait; the reason is ``concurrency-limit``.
        """
    def admit(
        self,
        request: Optional[Request] = None,
        /,
        *,
        timeout: Optional[float] = None,
        **attributes: Unpack[_Attributes],
    ) -> Admission:
        """Admits a request in an event loop: ``async with d.admit(request) as permit`` or ``permit = await d.admit(request)``.

        It takes its place now, before it is awaited. No thread waits for it.

        :param timeout: how long it may wait at most, seconds; the limits of the request and of its level apply besides.
        :raises Rejected: when it is awaited: refused at once, or ``time-out``.
        """
    def admit_blocking(
        self,
        request: Optional[Request] = None,
        /,
        *,
        timeout: Optional[float] = None,
        **attributes: Unpack[_Attributes],
    ) -> Permit:
        """Admits a request, blocking the thread, without the interpreter's lock, while it waits in its queue.

        A signal handler that raises ends the wait of the main thread within 50 ms.

        :param timeout: as for :meth:`admit`.
        :raises Rejected: refused at once, or ``time-out``.
        :raises ForkedError: it would wait in a forked child.
        """
    def reconfigure(self, config: Optional[_Config] = None, *, built_in: _BuiltIn = "suggested") -> None:
        """Replaces the whole configuration while requests are in flight.

        Running requests keep their seats and waiting ones their places; a level that is gone takes no new requests.

        :raises ConfigError: nothing has changed.
        """
    def left_out(self) -> List[str]:
        """What of the configuration takes no part, one sentence an object; empty when everything does."""
    def stats(self) -> Stats:
        """Every number that kube-apiserver's metrics show, as values."""
    def prometheus(self) -> str:
        """The metrics in Prometheus' text format, under kube-apiserver's names."""
    def dump(self, table: Literal["priority_levels", "queues", "requests"], *, details: bool = False) -> str:
        """A debug dump as kube-apiserver prints it. ``requests`` names them where ``keep_details`` was asked for."""
    def level_uid(self, name: str) -> str:
        """The UID of the level of this name; empty where there is none, as for built-in objects."""
    def schema_uid(self, name: str) -> str:
        """The UID of the FlowSchema of this name; empty where there is none, as for built-in objects."""
    def run_timers(self) -> None:
        """Does what is due by the clock's time: for a :class:`ManualClock`. Others have a thread for it."""
    def next_timer(self) -> Optional[float]:
        """When something is due next, seconds since the clock's origin: for a :class:`ManualClock`."""
    @property
    def _nodes_in_use(self) -> int: ...

@final
class ManualClock:
    """A clock that stands still until it is told otherwise: for tests and harnesses."""

    def __new__(cls) -> Self: ...
    def now(self) -> float:
        """The time it shows, seconds; 0 at first."""
    def set(self, now: float) -> None:
        """Moves it on to ``now``, seconds; it does not go back."""

@final
class Finding:
    """One thing that is wrong with a configuration; ``str()`` gives it with its place."""

    @property
    def object(self) -> str:
        """``KIND/NAME``, empty when not known."""
    @property
    def field(self) -> str:
        """Path of the field, empty when the whole object or file is meant."""
    @property
    def rule(self) -> str:
        """The rule that is broken, as kubectl titles it: ``Invalid value``."""
    @property
    def message(self) -> str:
        """The finding without its place."""
    @property
    def source(self) -> str:
        """Name of the file or text."""
    @property
    def line(self) -> int:
        """Line from 1, 0 when it has none."""
    @property
    def column(self) -> int:
        """Column from 1, 0 when it has none."""

@final
class Histogram:
    """A histogram of durations."""

    @property
    def bounds(self) -> Tuple[float, ...]:
        """Upper bounds of the buckets but the last, seconds."""
    @property
    def counts(self) -> Tuple[int, ...]:
        """Observations in each bucket, not cumulative; the last is beyond the last bound."""
    @property
    def sum(self) -> float:
        """Sum of the observations, seconds."""
    @property
    def count(self) -> int:
        """Number of observations."""

@final
class LevelStats:
    """One priority level. The names of kube-apiserver's metrics are in brackets."""

    @property
    def level(self) -> str:
        """Its name."""
    @property
    def nominal(self) -> int:
        """``nominal_limit_seats``."""
    @property
    def min(self) -> int:
        """``lower_limit_seats``."""
    @property
    def max(self) -> int:
        """``upper_limit_seats``."""
    @property
    def current_limit(self) -> int:
        """``current_limit_seats``."""
    @property
    def target(self) -> float:
        """``target_seats``."""
    @property
    def demand_high_watermark(self) -> int:
        """``demand_seats_high_watermark``."""
    @property
    def demand_average(self) -> float:
        """``demand_seats_average``."""
    @property
    def demand_stdev(self) -> float:
        """``demand_seats_stdev``."""
    @property
    def demand_smoothed(self) -> float:
        """``demand_seats_smoothed``."""
    @property
    def requests_waiting(self) -> int:
        """Requests that wait."""
    @property
    def seats_waiting(self) -> int:
        """Seats that they want."""
    @property
    def requests_executing(self) -> int:
        """Requests that execute."""
    @property
    def seats_in_use(self) -> int:
        """Seats in use, also by requests that linger."""
    @property
    def seat_utilization(self) -> float:
        """Seats in use over the current limit; over a tenth of the server where that is 0."""
    @property
    def progress(self) -> float:
        """``current_r``, seat-seconds."""
    @property
    def retry_after(self) -> int:
        """What a refused caller is told, seconds."""
    @property
    def quiescing(self) -> bool:
        """Whether it has been removed and is running empty."""

@final
class SchemaStats:
    """One FlowSchema at one level."""

    @property
    def schema(self) -> str:
        """The FlowSchema."""
    @property
    def level(self) -> str:
        """The level its requests went to."""
    @property
    def arrived(self) -> int:
        """Requests that were given to the level."""
    @property
    def dispatched(self) -> int:
        """Requests that began to execute."""
    @property
    def rejected(self) -> Dict[str, int]:
        """Refusals by reason."""
    @property
    def requests_waiting(self) -> int:
        """Requests that wait."""
    @property
    def seats_waiting(self) -> int:
        """Seats that they want."""
    @property
    def requests_executing(self) -> int:
        """Requests that execute."""
    @property
    def seats_executing(self) -> int:
        """Their seats."""
    @property
    def waited(self) -> Histogram:
        """Waits that ended in execution."""
    @property
    def waited_in_vain(self) -> Histogram:
        """Waits that did not."""
    @property
    def executed(self) -> Histogram:
        """Executions."""

@final
class Stats:
    """A dispatcher's numbers at one moment."""

    @property
    def levels(self) -> Dict[str, LevelStats]:
        """Priority levels by name."""
    @property
    def schemas(self) -> List[SchemaStats]:
        """FlowSchemas by level and name; also those of earlier configurations, for counts do not go away."""
    @property
    def seat_fair_fraction(self) -> float:
        """``seat_fair_frac``."""

@final
class Scenario:
    """A scenario of ``apf simulate``: a configuration, clients, and what changes when.

    :param scenario: YAML or JSON text, or the same as a dict (of a whole server) or a list of dicts (fairness scenarios).
    :param folder: where the manifests that it names are looked up.
    :raises SimulationError: it breaks a rule of the format.
    """

    def __new__(
        cls, scenario: Union[str, Dict[str, Any], List[Dict[str, Any]]], *, folder: Optional[_Path] = None
    ) -> Self: ...
    @staticmethod
    def load(path: _Path) -> Scenario:
        """From a file.

        :raises SimulationError: it cannot be read, or breaks a rule of the format.
        """
    def run(
        self, *, seed: Optional[int] = None, mode: Optional[_Mode] = None, requests: bool = False
    ) -> Run:
        """Runs a scenario of a whole server. The same seed gives the same run.

        :param seed: in place of the scenario's.
        :param mode: in place of the scenario's.
        :param requests: keeps what becomes of each request, some 50 bytes for each.
        """
    def check(self, *, mode: Optional[_Mode] = None) -> Dict[str, Any]:
        """Evaluates a list of fairness scenarios, in exact mode unless told otherwise: as ``apf simulate --check -o json``."""

@final
class Simulator:
    """A server on simulated time for requests whose times the caller has: those of a load test, or of another simulation.

    :param config: as for :class:`Dispatcher`, as are ``seats``, ``built_in`` and ``mode``.
    :param wait_limit: how long a request may wait in a queue, seconds.
    """

    def __new__(
        cls,
        config: Optional[_Config] = None,
        seats: int = 600,
        *,
        built_in: _BuiltIn = "suggested",
        mode: _Mode = "default",
        wait_limit: float = 15.0,
    ) -> Self: ...
    def submit(
        self,
        request: Request,
        at: float,
        execution: float,
        *,
        client: Optional[str] = None,
        cancel_after: Optional[float] = None,
    ) -> int:
        """Adds one request; answers its row in the columns of the run. Times need not rise.

        :param at: when it arrives, seconds from 0, rounded to nanoseconds.
        :param execution: how long it executes once it is admitted, seconds.
        :param client: name in the report; the user's unless given.
        :param cancel_after: when its caller leaves if it still waits then, seconds after its arrival.
        """
    def submit_many(
        self,
        request: Request,
        at: Iterable[float],
        execution: Iterable[float],
        *,
        client: Optional[str] = None,
    ) -> int:
        """Adds many requests of one kind, their times in arrays of doubles or lists; answers the row of the first."""
    def run(self) -> Run:
        """Runs all requests from time 0 until nothing more can happen. May be called again, also after more were added."""
    def __len__(self) -> int: ...

def replay(
    logs: Union[_Log, Sequence[_Log]],
    config: Optional[_Config] = None,
    seats: int = 600,
    *,
    built_in: _BuiltIn = "suggested",
    mode: _Mode = "default",
    request_timeout: float = 60.0,
    durations: Union[str, Mapping[str, float], None] = None,
    list_seats: int = 1,
    requests: bool = False,
) -> Run:
    """Sends recorded audit logs through a configuration, as ``apf replay`` does.

    :param logs: paths, plain or gzip, or the bytes of logs.
    :param request_timeout: the server's, seconds: a request may wait for a quarter of it.
    :param durations: mean execution times by verb where the log has none, seconds, or as ``list=50ms,get=2ms``.
    :param list_seats: seats of a list.
    :param requests: keeps what becomes of each request.
    :raises SimulationError: a log cannot be read.
    """

@final
class Completions:
    """Which waiting requests of one event loop have been decided."""

    def __new__(cls) -> Self: ...
    def fileno(self) -> int: ...
    def take(self) -> List[int]: ...

@final
class Done:
    def __await__(self) -> Generator[Any, Any, None]: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> None: ...
