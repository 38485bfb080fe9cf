"""WSGI middleware: kube-apiserver's filter for priority and fairness in front of an application.

A request that waits keeps its worker thread; in an event loop use :mod:`apf_core.asgi`.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import quote

from apf_core import _http
from apf_core._errors import Rejected
from apf_core._http import Identity, Running
from apf_core._native import Dispatcher, Permit, Request

__all__ = ["APFMiddleware", "Running"]

Environ = Dict[str, Any]
App = Callable[..., Iterable[bytes]]


class APFMiddleware:
    """Admits each request before the application sees it, and gives its seats back when its response is closed.

    See :class:`apf_core.asgi.APFMiddleware` for what it does and for the parameters; ``user``, ``request`` and
    ``estimate`` get the environ. The application finds a :class:`Running` as ``environ["apf_core"]``.
    """

    def __init__(
        self,
        app: App,
        dispatcher: Dispatcher,
        user: Optional[Callable[[Environ], Identity]] = None,
        *,
        request: Optional[Callable[[Environ], Optional[Request]]] = None,
        estimate: Optional[Callable[[Environ], Mapping[str, Any]]] = None,
        request_timeout: float = 60.0,
        timeout_parameter: Optional[str] = "timeout",
        long_running_verbs: Iterable[str] = _http.LONG_RUNNING_VERBS,
        long_running_subresources: Iterable[str] = _http.LONG_RUNNING_SUBRESOURCES,
    ) -> None:
        if (user is None) == (request is None):
            raise TypeError("either user or request is needed, and not both")
        self.app = app
        self._user = user
        self._request = request
        self._estimate = estimate
        self._filter = _http.Filter(
            dispatcher, request_timeout, timeout_parameter, long_running_verbs, long_running_subresources
        )

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        target = _target(environ)
        request = self._describe(environ, target)
        if request is None:
            return _answer(start_response, _http.internal_error(target))
        is_watch = request.verb == "watch"
        if not is_watch and self._filter.is_long_running(request):
            return self.app(environ, start_response)
        limit = self._filter.wait_limit(request, environ.get("QUERY_STRING", ""))
        if limit is None:
            return _answer(start_response, _http.bad_timeout())
        try:
            permit = self._filter.dispatcher.admit_blocking(request, timeout=limit)
        except Rejected as refused:
            return _answer(start_response, self._filter.too_many(refused))

        uids = self._filter.uid_headers(permit.level, permit.schema)

        def start_with_uids(status: str, headers: List[Tuple[str, str]], *rest: Any) -> Any:
            return start_response(status, [*uids, *headers], *rest)

        try:
            environ = {**environ, "apf_core": Running(permit, is_watch)}
            return _Body(self.app(environ, start_with_uids), permit)
        except BaseException:
            permit.release()
            raise

    def _describe(self, environ: Environ, target: str) -> Optional[Request]:
        if self._request is not None:
            return self._request(environ)
        assert self._user is not None
        identity = self._user(environ)
        if identity is None:
            return None
        cost = {} if self._estimate is None else dict(self._estimate(environ))
        return _http.build(environ["REQUEST_METHOD"], target, identity, cost)


class _Body:
    """The application's body; its end is the request's."""

    def __init__(self, body: Iterable[bytes], permit: Permit) -> None:
        self._body = body
        self._permit = permit

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        finally:
            self._permit.release()


def _target(environ: Environ) -> str:
    path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
    query = environ.get("QUERY_STRING", "")
    encoded = quote(path.encode("latin-1")) or "/"
    return f"{encoded}?{query}" if query else encoded


def _answer(start_response: Callable[..., Any], answer: _http.Answer) -> Iterable[bytes]:
    start_response(f"{answer.status} {answer.reason}", answer.headers)
    return [answer.body]
