"""The service that is written out in the cases of test/cases/client.json, as an HTTP server of this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class SimulatedClock:
    """It leaps to the end of each wait."""

    def __init__(self) -> None:
        self.time = 1_000.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        with self._lock:
            self.time += seconds


@dataclass
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: str
    at: float


class ScriptedService:
    def __init__(self, service: Json, clock: SimulatedClock) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        #: How many requests were answered 429, and 401.
        self.refused = 0
        self.unauthorized = 0
        self._service = service
        self._clock = clock
        self._script: list[Any] = list(service.get("answers", []))
        self._tokens = iter(service.get("tokens", []))
        self._syncs = 0
        self._ends_at = 0.0
        self._count = 0

    def __enter__(self) -> ScriptedService:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(self))
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: str) -> Any:
        """`broken`, `cut off`, or the status, headers and body of the answer."""
        asked = Asked(method, path, headers, body, self._clock.now())
        self.asked.append(asked)
        if path == "/oauth/token":
            token = next(self._tokens, None)
            if token is None:
                return {"status": 401, "body": {"error": "invalid_client"}}
            return {"status": 200, "body": {"access_token": token, "expires_in": 3_600}}
        if "limit" in self._service:
            return self._limited(asked, **self._service["limit"])
        refusal = self._too_large(body)
        if refusal:
            return {"status": 413, "body": {"code": refusal, "detail": refusal}}
        script = self._script.pop(0) if self._script else self._service.get("then", "created")
        if isinstance(script, dict) and script["status"] == 401:
            self.unauthorized += 1
        return self._created(asked) if script == "created" else script

    def _too_large(self, body: str) -> str:
        if len(body.encode()) > self._service.get("bodyBytesMax", 10**9):
            return "body_too_large"
        items_max = self._service.get("itemsMax")
        return "too_many_items" if items_max and len(read_body(body)[0]) > items_max else ""

    def _limited(self, asked: Asked, requests: int, windowSeconds: float) -> Json:
        """Windows as the gateway counts them: each begins with a request, and what it says of its end is rounded up."""
        self._clock.wait(0.02)
        if self._clock.now() >= self._ends_at:
            self._ends_at = self._clock.now() + windowSeconds
            self._count = 0
        self._count += 1
        reset = str(int(-(-(self._ends_at - self._clock.now()) // 1)))
        headers = {
            "ratelimit-limit": str(requests),
            "ratelimit-remaining": str(max(requests - self._count, 0)),
            "ratelimit-reset": reset,
        }
        self._clock.wait(0.025)
        if self._count <= requests:
            return {**self._created(asked), "headers": headers}
        self.refused += 1
        return {"status": 429, "headers": {**headers, "retry-after": reset}, "body": {}}

    def _created(self, asked: Asked) -> Json:
        items, _ = read_body(asked.body)
        kind = asked.path.split("/")[-1].split("?")[0]
        self._syncs += 1
        return {
            "status": 200,
            "headers": {} if asked.path.endswith("/plan") else {"x-sync-id": f"sync_{self._syncs}"},
            "body": {
                "success": True,
                "created": len(items),
                "updated": 0,
                "unchanged": 0,
                "errors": [],
                "records": [
                    {"externalId": item["externalId"], "internalId": "", "status": "CREATED"} for item in items
                ],
                "details": [
                    {
                        "index": index,
                        "action": "created",
                        "changedFields": [],
                        "problems": [{"pointer": f"/{kind}/{index}/name", "code": "required", "detail": ""}],
                        "ignored": [f"/{kind}/{index}/more"],
                    }
                    for index in range(len(items))
                ],
            },
        }


def handler_of(service: ScriptedService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are two writes, the second of which must not wait for an acknowledgement of the first.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            service.connections += 1
            super().setup()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = service.answer(self.command, self.path, headers, body)
            if answer == "broken":
                self.close_connection = True
                return
            if answer == "cut off":
                answer = {"status": 200, "headers": {"content-length": "1000"}, "text": '{"success": tr'}
                self.close_connection = True
            text = answer["text"] if "text" in answer else json.dumps(answer.get("body", {}))
            sent = {"content-length": str(len(text.encode())), **answer.get("headers", {})}
            self.send_response(answer["status"])
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = _answer

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def read_body(body: str) -> tuple[list[Json], Json]:
    """The items of a pushed body, and what stands beside them."""
    whole = json.loads(body)
    items: list[Json] = next((whole.pop(kind) for kind in ("suppliers", "products", "batches") if kind in whole), [])
    return items, whole


def items_of(items: Any) -> Iterator[Json]:
    """The items of a call, as a generator."""
    if isinstance(items, list):
        yield from items
        return
    for index in range(items["count"]):
        item: Json = {"externalId": f"S-{index}", "name": f"Supplier {index}"}
        if "certification" in items:
            item["certifications"] = [_repeated(items["certification"])]
        yield item
    if "last" in items:
        yield {**items["last"], "name": _repeated(items["last"]["name"])}


def _repeated(text: Json) -> str:
    return str(text["character"]) * int(text["times"])
