"""What the ASGI and the WSGI middleware have in common: kube-apiserver's filter for priority and fairness."""

from __future__ import annotations

import json
import re
from typing import Any, FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple
from urllib.parse import parse_qs

from apf_core._errors import Rejected
from apf_core._native import Dispatcher, Permit, Request

Identity = Optional[Tuple[str, Sequence[str]]]
Headers = List[Tuple[str, str]]

SCHEMA_UID = "X-Kubernetes-PF-FlowSchema-UID"
LEVEL_UID = "X-Kubernetes-PF-PriorityLevel-UID"

LONG_RUNNING_VERBS: FrozenSet[str] = frozenset({"watch", "proxy"})
LONG_RUNNING_SUBRESOURCES: FrozenSet[str] = frozenset({"attach", "exec", "proxy", "log", "portforward"})

_LONGEST_WAIT = 60.0
_TERM = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class Answer:
    """A response that the filter gives in place of the application."""

    def __init__(self, status: int, reason: str, headers: Headers, text: str) -> None:
        self.status = status
        self.reason = reason
        self.body = text.encode()
        self.headers: Headers = [
            *headers,
            ("Content-Type", "text/plain; charset=utf-8"),
            ("X-Content-Type-Options", "nosniff"),
            ("Content-Length", str(len(self.body))),
        ]


class Running:
    """What the application finds under ``apf_core`` in its scope or environ: the permit it runs on."""

    def __init__(self, permit: Permit, is_watch: bool) -> None:
        self.permit = permit
        self._is_watch = is_watch

    def initialized(self) -> None:
        """A watch has sent its initial events: its seats come back, and its stream goes on without them.

        Of other requests it changes nothing.
        """
        if self._is_watch:
            self.permit.release()


def parse_duration(text: str) -> Optional[float]:
    """A duration in Go's notation as seconds; ``None`` when it is none."""
    sign = -1.0 if text.startswith("-") else 1.0
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0.0
    terms = list(_TERM.finditer(rest))
    if not rest or "".join(term.group() for term in terms) != rest:
        return None
    return sign * sum(float(term.group(1)) * _SECONDS[term.group(2)] for term in terms)


class Filter:
    """The settings of a middleware, and the decisions that need no event loop."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        request_timeout: float,
        timeout_parameter: Optional[str],
        long_running_verbs: Iterable[str],
        long_running_subresources: Iterable[str],
    ) -> None:
        self.dispatcher = dispatcher
        self.request_timeout = request_timeout
        self.timeout_parameter = timeout_parameter
        self.long_running_verbs = frozenset(long_running_verbs)
        self.long_running_subresources = frozenset(long_running_subresources)

    def is_long_running(self, request: Request) -> bool:
        """Whether it bypasses priority and fairness, unless it is a watch."""
        if request.is_resource_request:
            return (
                request.verb in self.long_running_verbs or request.subresource in self.long_running_subresources
            )
        return request.path.startswith("/debug/pprof/")

    def wait_limit(self, request: Request, query: str) -> Optional[float]:
        """How long it may wait, seconds: a quarter of its time. ``None`` when its time cannot be read."""
        time = self.request_timeout
        # A watch has no deadline of its own.
        if self.timeout_parameter and self.timeout_parameter in query and request.verb != "watch":
            values = parse_qs(query).get(self.timeout_parameter)
            if values:
                asked = parse_duration(values[0])
                if asked is None:
                    return None
                if 0 < asked < time:
                    time = asked
        return min(time / 4, _LONGEST_WAIT)

    def uid_headers(self, level: str, schema: str) -> Headers:
        return [
            (SCHEMA_UID, self.dispatcher.schema_uid(schema)),
            (LEVEL_UID, self.dispatcher.level_uid(level)),
        ]

    def too_many(self, refused: Rejected) -> Answer:
        headers = self.uid_headers(refused.level, refused.schema)
        headers.append(("Retry-After", str(refused.retry_after)))
        return Answer(429, "Too Many Requests", headers, "Too many requests, please try again later.\n")


def build(method: str, target: str, identity: Tuple[str, Sequence[str]], cost: Mapping[str, Any]) -> Optional[Request]:
    """The request of a URL; ``None`` when the URL cannot be read."""
    user, groups = identity
    try:
        return Request.from_url(method, target, user=user, groups=groups, **cost)
    except ValueError:
        if cost:
            Request(verb="get", path="/", **cost)  # an estimate out of range is the estimator's fault
        return None


def internal_error(target: str) -> Answer:
    quoted = json.dumps(target, ensure_ascii=False)
    return Answer(500, "Internal Server Error", [], f"Internal Server Error: {quoted}\n")


def bad_timeout() -> Answer:
    return Answer(400, "Bad Request", [], "invalid timeout specified in the request URL\n")
