"""The filter of spec "HTTP filter" in front of ASGI and WSGI applications."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Awaitable, Callable, Dict, List, Optional, Tuple

import pytest
from helpers import in_use, one_seat

import apf_core
from apf_core import _http, asgi, wsgi

PODS = "/api/v1/namespaces/dev/pods"
SCHEMA_UID = ("X-Kubernetes-PF-FlowSchema-UID", "uid-of-the-schema")
LEVEL_UID = ("X-Kubernetes-PF-PriorityLevel-UID", "uid-of-the-level")

Answer = Tuple[int, List[Tuple[str, str]], bytes]


class Client:
    """Sends requests to an application behind the middleware; says what came back."""

    def __init__(self, d: apf_core.Dispatcher, app: Callable[[Any], None], **options: Any) -> None:
        options.setdefault("user", lambda _: ("alice", ["system:authenticated"]))
        self.dispatcher, self.app, self.options = d, app, options

    def get(self, path: str, query: str = "", method: str = "GET") -> Answer:
        raise NotImplementedError


class AsgiClient(Client):
    def get(self, path: str, query: str = "", method: str = "GET") -> Answer:
        async def app(scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
            self.app(scope.get("apf_core"))
            await send({"type": "http.response.start", "status": 200, "headers": [[b"x-own", b"1"]]})
            await send({"type": "http.response.body", "body": b"done"})

        async def receive() -> asgi.Message:
            await asyncio.sleep(3600)
            raise AssertionError

        sent: List[Any] = []

        async def send(message: asgi.Message) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [],
        }
        middleware = asgi.APFMiddleware(app, self.dispatcher, **self.options)
        asyncio.run(middleware(scope, receive, send))
        headers = [(name.decode(), value.decode()) for name, value in sent[0]["headers"]]
        assert all(name == name.lower() for name, _ in headers)
        return sent[0]["status"], headers, b"".join(message["body"] for message in sent[1:])


class WsgiClient(Client):
    def get(self, path: str, query: str = "", method: str = "GET") -> Answer:
        def app(environ: Dict[str, Any], start_response: Callable[..., Any]) -> List[bytes]:
            self.app(environ.get("apf_core"))
            start_response("200 OK", [("X-Own", "1")])
            return [b"done"]

        started: List[Any] = []
        environ = {"REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query}
        middleware = wsgi.APFMiddleware(app, self.dispatcher, **self.options)
        body = middleware(environ, lambda status, headers, *_: started.append((status, headers)))
        try:
            text = b"".join(body)
        finally:
            getattr(body, "close", lambda: None)()
        status, headers = started[0]
        return int(status.split()[0]), headers, text


@pytest.fixture(params=[AsgiClient, WsgiClient], ids=["asgi", "wsgi"])
def client_of(request: pytest.FixtureRequest) -> Callable[..., Client]:
    made: Callable[..., Client] = request.param
    return made


def lower(headers: List[Tuple[str, str]]) -> Dict[str, str]:
    return {name.lower(): value for name, value in headers}


def has_uids(headers: List[Tuple[str, str]]) -> bool:
    found = lower(headers)
    return all(found.get(name.lower()) == value for name, value in (SCHEMA_UID, LEVEL_UID))


def test_a_request_holds_its_seat_while_the_application_works(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    seen: List[Any] = []

    def app(running: asgi.Running) -> None:
        seen.append((running.permit.level, in_use(d)))
        running.initialized()  # changes nothing: it is no watch
        seen.append(in_use(d))

    status, headers, body = client_of(d, app).get(PODS)
    assert (status, body) == (200, b"done")
    assert seen == [("narrow", 1), 1]
    assert has_uids(headers) and lower(headers)["x-own"] == "1"
    assert in_use(d) == 0


def test_a_refused_request_is_answered_as_kube_apiserver_answers(client_of: Callable[..., Client]) -> None:
    d = one_seat("Reject")
    with d.try_admit(verb="get", path="/", user="x"):
        status, headers, body = client_of(d, lambda _: pytest.fail("it must not run")).get(PODS)
    assert (status, body) == (429, b"Too many requests, please try again later.\n")
    found = lower(headers)
    assert found["retry-after"] == "1"
    assert found["content-type"] == "text/plain; charset=utf-8"
    assert found["x-content-type-options"] == "nosniff"
    assert has_uids(headers)


def test_the_headers_are_there_also_when_the_objects_have_no_uid(client_of: Callable[..., Client]) -> None:
    status, headers, _ = client_of(apf_core.Dispatcher(), lambda _: None).get("/healthz")
    assert status == 200
    assert lower(headers)["x-kubernetes-pf-flowschema-uid"] == ""
    assert lower(headers)["x-kubernetes-pf-prioritylevel-uid"] == ""


def test_a_failing_application_gives_its_seat_back_and_its_exception_on(client_of: Callable[..., Client]) -> None:
    d = one_seat()

    def app(_: Any) -> None:
        raise KeyError("the application's own")

    for _ in range(3):
        with pytest.raises(KeyError, match="the application's own"):
            client_of(d, app).get(PODS)
        assert in_use(d) == 0


def test_without_an_identity_there_is_nothing_to_classify_by(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    client = client_of(d, lambda _: pytest.fail("it must not run"), user=lambda _: None)
    status, headers, body = client.get(PODS, "limit=1")
    assert (status, body) == (500, f'Internal Server Error: "{PODS}?limit=1"\n'.encode())
    assert "x-kubernetes-pf-flowschema-uid" not in lower(headers)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{PODS}/x/log"),
        ("POST", f"{PODS}/x/exec"),
        ("POST", f"{PODS}/x/attach"),
        ("POST", f"{PODS}/x/portforward"),
        ("GET", f"{PODS}/x/proxy"),
        ("GET", "/api/v1/proxy/namespaces/dev/pods/x"),
        ("GET", "/debug/pprof/heap"),
    ],
)
def test_long_running_requests_pass_without_a_seat(
    client_of: Callable[..., Client], method: str, path: str
) -> None:
    d = one_seat("Reject")
    with d.try_admit(verb="get", path="/", user="x"):
        status, headers, _ = client_of(d, lambda running: None).get(path, method=method)
        assert status == 200
        assert "x-kubernetes-pf-flowschema-uid" not in lower(headers)


@pytest.mark.parametrize(("path", "query"), [(PODS, "watch=true"), (f"/api/v1/watch/namespaces/dev/pods", "")])
def test_a_watch_gives_its_seat_back_once_it_is_initialized(
    client_of: Callable[..., Client], path: str, query: str
) -> None:
    d = one_seat()
    seen = []

    def app(running: asgi.Running) -> None:
        seen.append(in_use(d))
        running.initialized()
        seen.append(in_use(d))
        running.initialized()

    status, headers, _ = client_of(d, app).get(path, query)
    assert status == 200 and has_uids(headers)
    assert seen == [1, 0]
    assert in_use(d) == 0


def test_the_wait_ends_after_a_quarter_of_the_time_of_the_request(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    app = client_of(d, lambda _: pytest.fail("it must not run"), request_timeout=0.4)
    with d.try_admit(verb="get", path="/", user="x"):
        assert app.get(PODS)[0] == 429
        assert app.get(PODS, "timeout=10ms")[0] == 429
    (schema,) = [schema for schema in d.stats().schemas if schema.schema == "narrow"]
    assert schema.rejected["time-out"] == 2
    assert 0.1 <= schema.waited_in_vain.sum < 5


@pytest.mark.parametrize(
    ("timeout", "query", "verb", "limit"),
    [
        (60.0, "", "list", 15.0),
        (60.0, "timeout=10s", "list", 2.5),
        (60.0, "timeout=480s", "list", 15.0),
        (60.0, "timeout=0", "list", 15.0),
        (60.0, "timeout=-5s", "list", 15.0),
        (60.0, "timeout=10s", "watch", 15.0),
        (480.0, "", "list", 60.0),
        (480.0, "a=b&timeout=1m30s", "list", 22.5),
        (60.0, "timeout=soon", "list", None),
        (60.0, "timeout=5", "list", None),
    ],
)
def test_how_long_a_request_may_wait(timeout: float, query: str, verb: str, limit: Optional[float]) -> None:
    settings = _http.Filter(one_seat(), timeout, "timeout", [], [])
    assert settings.wait_limit(apf_core.Request(verb=verb, resource="pods"), query) == limit


def test_a_timeout_that_cannot_be_read_is_a_bad_request(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    assert client_of(d, lambda _: None).get(PODS, "timeout=soon")[0] == 400
    assert client_of(d, lambda _: None, timeout_parameter=None).get(PODS, "timeout=soon")[0] == 200


def test_the_estimate_of_a_callback_is_taken_and_its_faults_are_its_own(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    seen: List[int] = []
    client = client_of(d, lambda running: seen.append(running.permit.seats), estimate=lambda _: {"seats": 7})
    assert client.get(PODS)[0] == 200
    assert seen == [7]
    with pytest.raises(ValueError, match="at least 1"):
        client_of(d, lambda _: None, estimate=lambda _: {"seats": 0}).get(PODS)


def test_a_service_with_urls_of_its_own_says_what_a_request_is(client_of: Callable[..., Client]) -> None:
    d = one_seat()
    bulk = apf_core.Request(verb="create", resource="reports", user="batch", seats=3)
    seen: List[int] = []
    client = client_of(d, lambda running: seen.append(running.permit.seats), user=None, request=lambda _: bulk)
    assert client.get("/anything")[0] == 200
    assert seen == [3]
    neither_or_both: List[Dict[str, Any]] = [dict(user=None), dict(request=lambda _: bulk)]
    for options in neither_or_both:
        with pytest.raises(TypeError, match="either user or request"):
            client_of(d, lambda _: None, **options).get("/")


@pytest.mark.parametrize(("path", "status"), [("/a%20b", 200), ("/%zz", 500)])
def test_a_url_that_cannot_be_read_is_an_internal_error(path: str, status: int) -> None:
    assert AsgiClient(one_seat(), lambda _: None).get(path)[0] == status


def test_an_estimator_in_python_does_not_keep_the_holder_from_releasing() -> None:
    """Case H8 with a callback: a second thread waits while the first runs Python and then releases."""
    d = one_seat()
    order: List[str] = []
    client = WsgiClient(d, lambda _: order.append("second"), estimate=lambda _: {"seats": 1})
    held = d.admit_blocking(verb="get", path="/", user="x")
    thread = threading.Thread(target=client.get, args=(PODS,))
    thread.start()
    while not d.stats().levels["narrow"].requests_waiting:
        pass
    order.append("first")
    held.release()
    thread.join(5)
    assert not thread.is_alive() and order == ["first", "second"]


def test_a_wsgi_seat_is_held_until_the_body_is_closed() -> None:
    d = one_seat()
    closed: List[bool] = []

    class Body:
        def __iter__(self) -> Any:
            return iter([b"a", b"b"])

        def close(self) -> None:
            closed.append(True)
            raise OSError("the application's own")

    middleware = wsgi.APFMiddleware(lambda environ, start: Body(), d, lambda _: ("alice", []))
    body = middleware({"REQUEST_METHOD": "GET", "PATH_INFO": "/"}, lambda *_: None)
    assert b"".join(body) == b"ab"
    assert in_use(d) == 1
    with pytest.raises(OSError, match="the application's own"):
        body.close()  # type: ignore[attr-defined]
    assert closed == [True] and in_use(d) == 0


class Connection:
    """One ASGI request whose messages a test sends by hand."""

    def __init__(self, d: apf_core.Dispatcher, app: asgi.App) -> None:
        self.to_app: "asyncio.Queue[asgi.Message]" = asyncio.Queue()
        self.sent: List[asgi.Message] = []
        middleware = asgi.APFMiddleware(app, d, lambda _: ("alice", []))
        scope = {"type": "http", "method": "POST", "path": PODS, "query_string": b""}
        self.task = asyncio.ensure_future(middleware(scope, self.to_app.get, self.send))

    async def send(self, message: asgi.Message) -> None:
        self.sent.append(message)


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def run_with_a_waiting_connection(test: Callable[[apf_core.Dispatcher, Any, Connection], Awaitable[None]]) -> None:
    """The only seat is held, and a request with a body waits for it."""

    async def app(scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": body})

    async def main() -> None:
        d = one_seat()
        held = d.try_admit(verb="get", path="/", user="x")
        connection = Connection(d, app)
        await settle()
        assert d.stats().levels["narrow"].requests_waiting == 1
        await test(d, held, connection)
        await settle()
        assert in_use(d) == 0 and d.stats().levels["narrow"].requests_waiting == 0 and d._nodes_in_use == 0
        alone = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        assert alone == []

    asyncio.run(main())


def test_a_body_that_was_read_while_waiting_reaches_the_application() -> None:
    async def test(d: apf_core.Dispatcher, held: apf_core.Permit, connection: Connection) -> None:
        for part in [b"a", b"b"]:
            await connection.to_app.put({"type": "http.request", "body": part, "more_body": True})
        await settle()
        held.release()
        await asyncio.sleep(0.05)
        await connection.to_app.put({"type": "http.request", "body": b"c"})
        await connection.task
        assert connection.sent[1]["body"] == b"abc"

    run_with_a_waiting_connection(test)


def test_a_large_body_is_not_read_further_than_needed() -> None:
    async def test(d: apf_core.Dispatcher, held: apf_core.Permit, connection: Connection) -> None:
        for _ in range(10):
            await connection.to_app.put({"type": "http.request", "body": bytes(30_000), "more_body": True})
        await settle()
        assert connection.to_app.qsize() == 7
        held.release()
        await connection.to_app.put({"type": "http.request", "body": b""})
        await connection.task
        assert len(connection.sent[1]["body"]) == 300_000

    run_with_a_waiting_connection(test)


def test_a_client_that_goes_while_its_request_waits_leaves_the_queue() -> None:
    async def test(d: apf_core.Dispatcher, held: apf_core.Permit, connection: Connection) -> None:
        await connection.to_app.put({"type": "http.request", "body": b"all"})
        await connection.to_app.put({"type": "http.disconnect"})
        await connection.task
        assert connection.sent == []
        assert d.stats().levels["narrow"].requests_waiting == 0
        held.release()

    run_with_a_waiting_connection(test)


@pytest.mark.parametrize("steps", range(8))
def test_a_connection_cancelled_around_its_grant_loses_no_seat(steps: int) -> None:
    async def test(d: apf_core.Dispatcher, held: apf_core.Permit, connection: Connection) -> None:
        held.release()
        for _ in range(steps):
            await asyncio.sleep(0)
        connection.task.cancel()
        await asyncio.wait([connection.task])

    run_with_a_waiting_connection(test)


def test_other_scopes_pass_untouched() -> None:
    d = one_seat("Reject")
    seen: List[str] = []

    async def app(scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        seen.append(scope["type"])

    async def nothing(*_: Any) -> Any:
        raise AssertionError

    async def main() -> None:
        with d.try_admit(verb="get", path="/", user="x"):
            for kind in ["lifespan", "websocket"]:
                await asgi.APFMiddleware(app, d, lambda _: None)({"type": kind}, nothing, nothing)

    asyncio.run(main())
    assert seen == ["lifespan", "websocket"]


def test_the_user_may_come_from_a_coroutine() -> None:
    async def user(scope: asgi.Scope) -> Tuple[str, List[str]]:
        await asyncio.sleep(0)
        return "bob", []

    assert AsgiClient(one_seat(), lambda _: None, user=user).get(PODS)[0] == 200


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m30s", 90.0), ("1.5s", 1.5), ("-2ms", -0.002), ("0", 0.0), (".5h", 1800.0), ("", None), ("5", None), ("s", None), ("1s 2s", None), ("+1s", 1.0)],
)
def test_durations_are_in_go_notation(text: str, seconds: Optional[float]) -> None:
    assert _http.parse_duration(text) == seconds
