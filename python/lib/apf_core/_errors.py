"""The exceptions of the package, one tree under :class:`Error`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Sequence

if TYPE_CHECKING:
    from apf_core._native import Finding


class Error(Exception):
    """The base of what this package raises by itself."""


class Rejected(Error):
    """The request does not run. Answer 429 with the header ``Retry-After``.

    :ivar reason: ``queue-full``, ``concurrency-limit`` or ``time-out``: the label of ``rejected_requests_total``.
    :ivar retry_after: how long to stay away, whole seconds, 1 to 32.
    :ivar level: the priority level that refused it.
    :ivar schema: the FlowSchema that it matched.
    """

    def __init__(self, reason: str, retry_after: int, level: str, schema: str) -> None:
        super().__init__(reason, retry_after, level, schema)
        self.reason = reason
        self.retry_after = retry_after
        self.level = level
        self.schema = schema

    def __str__(self) -> str:
        return (
            f"too many requests: {self.reason} at priority level {self.level!r} "
            f"(flow schema {self.schema!r}), retry after {self.retry_after} s"
        )


class ForkedError(Error):
    """The request would wait in a forked child, where nobody serves timers. Make a dispatcher in the child."""


class ConfigError(Error):
    """The configuration is refused; nothing has changed.

    :ivar findings: what is wrong, each with object, field, rule, message, source and line.
    """

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__(findings)
        self.findings = list(findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


class SimulationError(Error):
    """A scenario or a log is refused.

    :ivar source: the file, empty when there is none.
    :ivar line: the line, from 1.
    :ivar column: the column, from 1.
    """

    def __init__(
        self, message: str, source: str = "", line: Optional[int] = None, column: Optional[int] = None
    ) -> None:
        super().__init__(message, source, line, column)
        self.source = source
        self.line = line
        self.column = column

    def __str__(self) -> str:
        return str(self.args[0])
