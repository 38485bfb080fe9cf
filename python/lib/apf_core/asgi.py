"""ASGI middleware: kube-apiserver's filter for priority and fairness in front of an application.

No framework is needed; Starlette and FastAPI take it by ``app.add_middleware(APFMiddleware, dispatcher=..., user=...)``.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Awaitable, Callable, Iterable, List, Mapping, MutableMapping, Optional, Set, Union
from urllib.parse import quote

from apf_core import _http
from apf_core._errors import Rejected
from apf_core._http import Identity, Running
from apf_core._native import Admission, Dispatcher, Permit, Request

__all__ = ["APFMiddleware", "Running"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: So much of a body is read while its request waits, to notice that the client has gone.
_READ_AHEAD = 65536


class APFMiddleware:
    """Admits each HTTP request before the application sees it, and gives its seats back when the application returns.

    A refused request is answered 429 with ``Retry-After``; every answer has the headers with the UIDs of FlowSchema and
    priority level. Long-running requests other than watches pass without being admitted, as do websockets and lifespan
    events. The application finds a :class:`Running` as ``scope["apf_core"]``.

    :param app: the application.
    :param dispatcher: who admits.
    :param user: gives user name and groups of a scope, after authentication, or ``None``: then the answer is 500, as
        there is nothing to classify by. May be a coroutine function.
    :param request: gives the whole request in place of method, URL and ``user``, for services whose URLs are not those of
        the Kubernetes API. ``None`` as for ``user``.
    :param estimate: gives ``seats``, ``final_seats`` and ``additional_latency`` of a scope, those that are not 1, 0 and 0.
    :param request_timeout: how long a request may take, seconds. It may wait for a quarter of it, at most 60 s.
    :param timeout_parameter: the query parameter by which a client asks for less; ``None`` to ignore it.
    :param long_running_verbs: verbs of resource requests that are long-running.
    :param long_running_subresources: subresources whose requests are long-running.
    """

    def __init__(
        self,
        app: App,
        dispatcher: Dispatcher,
        user: Optional[Callable[[Scope], Union[Identity, Awaitable[Identity]]]] = None,
        *,
        request: Optional[Callable[[Scope], Optional[Request]]] = None,
        estimate: Optional[Callable[[Scope], Mapping[str, Any]]] = None,
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        target = _target(scope)
        request = await self._describe(scope, target)
        if request is None:
            await _answer(send, _http.internal_error(target))
            return
        is_watch = request.verb == "watch"
        if not is_watch and self._filter.is_long_running(request):
            await self.app(scope, receive, send)
            return
        limit = self._filter.wait_limit(request, _query(scope))
        if limit is None:
            await _answer(send, _http.bad_timeout())
            return

        admission = self._filter.dispatcher.admit(request, timeout=limit)
        waiting: Optional[_Waiting] = None
        try:
            if admission.waiting:
                waiting = _Waiting(receive)
                receive = waiting.receive
                permit = await waiting.wait(admission)
                if permit is None:
                    return  # the client has gone
            else:
                permit = await admission
        except Rejected as refused:
            await _answer(send, self._filter.too_many(refused))
            return

        uids = _encoded(self._filter.uid_headers(permit.level, permit.schema))

        async def send_with_uids(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*uids, *message.get("headers", ())]}
            await send(message)

        try:
            await self.app({**scope, "apf_core": Running(permit, is_watch)}, receive, send_with_uids)
        finally:
            permit.release()
            if waiting is not None:
                waiting.close()

    async def _describe(self, scope: Scope, target: str) -> Optional[Request]:
        if self._request is not None:
            return self._request(scope)
        assert self._user is not None
        found = self._user(scope)
        identity: Identity = await found if inspect.isawaitable(found) else found
        if identity is None:
            return None
        cost = {} if self._estimate is None else dict(self._estimate(scope))
        return _http.build(scope["method"], target, identity, cost)


class _Waiting:
    """A wait that ends when the client goes. What has been read of the body meanwhile is read by the application later."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._read: List[Message] = []
        self._reading: Optional["asyncio.Future[Message]"] = None

    async def wait(self, admission: Admission) -> Optional[Permit]:
        """The permit; ``None`` when the client has gone."""
        granted: "asyncio.Future[Permit]" = asyncio.ensure_future(admission)
        read_ahead = 0
        taken = False
        try:
            while True:
                if self._reading is None and read_ahead < _READ_AHEAD:
                    self._reading = asyncio.ensure_future(self._receive())
                awaited: Set["asyncio.Future[Any]"] = {granted} if self._reading is None else {granted, self._reading}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                if granted.done():
                    permit = granted.result()
                    taken = True
                    return permit
                if self._reading is not None and self._reading.done():
                    message, self._reading = self._reading.result(), None
                    self._read.append(message)
                    if message["type"] == "http.disconnect":
                        return None
                    read_ahead += len(message.get("body", b""))
        finally:
            if not taken:
                self.close()
                granted.cancel()
                if granted.done() and not granted.cancelled() and granted.exception() is None:
                    granted.result().release()

    def close(self) -> None:
        """Ends a read that nobody waits for any more."""
        if self._reading is not None:
            self._reading.cancel()

    async def receive(self) -> Message:
        if self._read:
            return self._read.pop(0)
        if self._reading is not None:
            reading, self._reading = self._reading, None
            return await reading
        return await self._receive()


def _target(scope: Scope) -> str:
    raw = scope.get("raw_path")
    path = quote(scope["path"]) if raw is None else raw.decode("latin-1")
    query = _query(scope)
    return f"{path}?{query}" if query else str(path)


def _query(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    return query.decode("latin-1")


def _encoded(headers: _http.Headers) -> List[List[bytes]]:
    return [[name.lower().encode("latin-1"), value.encode("latin-1")] for name, value in headers]


async def _answer(send: Send, answer: _http.Answer) -> None:
    headers = _encoded(answer.headers)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
