"""A Starlette service behind priority and fairness.

    pip install 'apf_core' starlette uvicorn
    uvicorn service:app

Reports take 200 ms and two seats; two of them run at a time. Everybody else is served meanwhile. FastAPI takes the middleware the same
way: ``app.add_middleware(APFMiddleware, dispatcher=dispatcher, request=request_of)``.
"""

import asyncio

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from apf_core import Dispatcher, Request
from apf_core.asgi import APFMiddleware

CONFIG = """
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: reports}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 10
    lendablePercent: 0
    borrowingLimitPercent: 0
    limitResponse: {type: Queue, queuing: {queues: 16, handSize: 2, queueLengthLimit: 4}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: pages}
spec:
  type: Limited
  limited:
    nominalConcurrencyShares: 35
    limitResponse: {type: Queue, queuing: {queues: 16, handSize: 2, queueLengthLimit: 50}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: reports}
spec:
  priorityLevelConfiguration: {name: reports}
  matchingPrecedence: 100
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: customers}}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: ["/reports/*"]}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: pages}
spec:
  priorityLevelConfiguration: {name: pages}
  matchingPrecedence: 200
  distinguisherMethod: {type: ByUser}
  rules:
  - subjects: [{kind: Group, group: {name: customers}}]
    nonResourceRules: [{verbs: ["*"], nonResourceURLs: ["*"]}]
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: operators}
spec:
  priorityLevelConfiguration: {name: exempt}
  matchingPrecedence: 50
  rules:
  - subjects: [{kind: User, user: {name: "*"}}]
    nonResourceRules: [{verbs: [get], nonResourceURLs: ["/metrics", "/debug/*"]}]
"""

# 20 seats: 4 for reports, 14 for pages, 2 for whoever is in no group.
dispatcher = Dispatcher(CONFIG, seats=20, built_in="mandatory")


def request_of(scope):
    """Who asks for what, and how wide it is. A real service takes the user from its authentication, not from a header."""
    headers = dict(scope["headers"])
    user = headers.get(b"x-user", b"").decode()
    return Request(
        verb=scope["method"].lower(),
        path=scope["path"],
        user=user or "anonymous",
        groups=["customers"] if user else [],
        seats=2 if scope["path"].startswith("/reports/") else 1,
    )


async def report(request):
    await asyncio.sleep(0.2)
    return JSONResponse({"report": request.path_params["name"], "level": request.scope["apf_core"].permit.level})


async def page(request):
    await asyncio.sleep(0.01)
    return JSONResponse({"page": request.path_params["name"], "level": request.scope["apf_core"].permit.level})


async def metrics(_):
    return PlainTextResponse(dispatcher.prometheus(), media_type="text/plain; version=0.0.4")


async def dump(request):
    return PlainTextResponse(dispatcher.dump(request.path_params["table"]))


app = Starlette(
    routes=[
        Route("/reports/{name}", report),
        Route("/pages/{name}", page),
        Route("/metrics", metrics),
        Route("/debug/{table}", dump),
    ],
    middleware=[Middleware(APFMiddleware, dispatcher=dispatcher, request=request_of)],
)
