"""Connections that are slow, closed, cut off or led through a proxy, and threads that share a client."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import signal
import socket
import threading
import time
import unittest
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from integration_sync import Client, RequestFailed, Unreachable, WebhookRefused
from integration_sync.clock import MachineClock
from integration_sync.rate_limit import Pacer

from cases import Json, ScriptedService, SimulatedClock

SUPPLIER = {"externalId": "S-1", "name": "One"}


@contextlib.contextmanager
def listening(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that does so with each connection, once it has read something."""
    open_sockets: list[socket.socket] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = server.accept()[0]
                open_sockets.append(connection)
                if connection.recv(65_536):
                    serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for one in open_sockets:
                one.close()
            thread.join()


def in_fork(work: Callable[[], object]) -> int:
    """Does the work in a fork, and returns its status: 0 if the work has ended within 10 s and without an error."""
    # Newer Pythons warn of a fork beside threads, which are the service's here.
    with warnings.catch_warnings(action="ignore"):
        child = os.fork()
    if child == 0:
        signal.alarm(10)
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


class Connections(unittest.TestCase):
    def test_an_answer_that_does_not_come_or_drips_ends_with_one_deadline(self) -> None:
        def drip(head: bytes) -> Callable[[socket.socket], None]:
            def serve(connection: socket.socket) -> None:
                with contextlib.suppress(OSError):
                    connection.sendall(head)
                    for _ in range(200):
                        connection.sendall(b"x")
                        time.sleep(0.02)

            return serve

        slow = {
            "silence": lambda _connection: None,
            "a status line": drip(b"HTTP/1.1 2"),
            "headers": drip(b"HTTP/1.1 200 OK\r\nx: "),
            "a body": drip(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"),
        }
        for name, serve in slow.items():
            with self.subTest(name), listening(serve) as port:
                client = Client(f"http://127.0.0.1:{port}", key="k", patience_seconds=0, answer_seconds_max=0.3)
                begun = time.monotonic()
                with self.assertRaisesRegex(Unreachable, "timed out"), client:
                    client.push("suppliers", [SUPPLIER])
                self.assertLess(time.monotonic() - begun, 2)

    def test_a_connection_that_the_service_has_closed_meanwhile_is_not_used(self) -> None:
        body = b'{"entities": [], "total": 0}'
        answer = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body)
        closed = threading.Semaphore(0)

        def answer_once(connection: socket.socket) -> None:
            connection.sendall(answer)
            connection.shutdown(socket.SHUT_RDWR)
            closed.release()

        with listening(answer_once) as port:
            with Client(f"http://127.0.0.1:{port}", key="k", patience_seconds=0) as client:
                for _ in range(3):
                    self.assertEqual(list(client.list("suppliers")), [])
                    self.assertTrue(closed.acquire(timeout=10))

    def test_a_connection_is_kept_alive_for_the_next_call(self) -> None:
        clock = SimulatedClock()
        with ScriptedService({}, clock) as service:
            with Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock) as client:
                client.push("suppliers", ({"externalId": f"S-{index}"} for index in range(2_000)))
                self.assertEqual({one.headers["host"] for one in service.asked}, {f"127.0.0.1:{service.port}"})
                self.assertEqual(service.connections, 1)

    def test_a_long_answer_of_a_connection_that_is_closed_after_it_is_read_whole(self) -> None:
        text = json.dumps({"entities": [{"externalId": f"S-{index}"} for index in range(10_000)], "total": 10_000})
        head = f"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len(text)}\r\n\r\n"
        with listening(lambda connection: connection.sendall((head + text).encode())) as port:
            with Client(f"http://127.0.0.1:{port}", key="k", patience_seconds=0) as client:
                self.assertEqual(len(list(client.list("suppliers"))), 10_000)

    def test_a_fork_shares_no_connection_with_its_parent(self) -> None:
        clock = SimulatedClock()
        with ScriptedService({}, clock) as service:
            with Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock) as client:
                client.push("suppliers", [SUPPLIER])
                self.assertEqual(in_fork(lambda: client.push("suppliers", [SUPPLIER])), 0)
                self.assertEqual((len(service.asked), service.connections), (2, 2))

    def test_a_fork_does_not_wait_for_the_token_that_a_thread_of_its_parent_fetches(self) -> None:
        text = b'{"access_token": "t", "entities": [], "total": 0}'
        asked = threading.Event()

        def serve(connection: socket.socket) -> None:
            if asked.is_set():
                head = f"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len(text)}\r\n\r\n"
                connection.sendall(head.encode() + text)
            asked.set()

        def fetch() -> None:
            with contextlib.suppress(Unreachable):
                list(client.list("suppliers"))

        thread = threading.Thread(target=fetch)
        with listening(serve) as port:
            url = f"http://127.0.0.1:{port}"
            client = Client(url, client_id="c", client_secret="s", patience_seconds=0)
            thread.start()
            self.assertTrue(asked.wait(10))
            self.assertEqual(in_fork(lambda: list(client.list("suppliers"))), 0)
        thread.join()

    def test_an_interrupted_call_leaves_no_lock_to_the_next_call(self) -> None:
        def use() -> None:
            while True:
                pacer.turn(math.inf)

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        pacer = Pacer(MachineClock())
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            for _ in range(500):
                with contextlib.suppress(KeyboardInterrupt):
                    signal.setitimer(signal.ITIMER_REAL, 0.0003)
                    use()
        finally:
            signal.signal(signal.SIGALRM, before)
        thread = threading.Thread(target=pacer.turn, args=(math.inf,), daemon=True)
        thread.start()
        thread.join(10)
        self.assertFalse(thread.is_alive())

    def test_a_process_gets_the_error_of_another_process(self) -> None:
        headers = {"www-authenticate": 'Bearer scope="integration:suppliers:read"'}
        failed = RequestFailed("GET /suppliers", 403, headers, '{"detail": "no", "code": "insufficient_scope"}')
        failed.add_note("a note")
        for error in (failed, WebhookRefused("too_old", "an old delivery"), Unreachable("no answer")):
            got = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(got), str(got), vars(got)), (type(error), str(error), vars(error)))

    def test_a_second_link_header_of_a_proxy_does_not_end_a_listing(self) -> None:
        def serve(connection: socket.socket) -> None:
            following = "</api/v1/integration/suppliers?cursor=two>"
            links = f'link: {following}; rel="next"\r\nlink: </style.css>; rel="preload"\r\n' if served == [] else ""
            text = json.dumps({"entities": [{"externalId": f"S-{len(served)}"}], "total": 2})
            served.append(links)
            head = f"HTTP/1.1 200 OK\r\n{links}connection: close\r\ncontent-length: {len(text)}\r\n\r\n"
            connection.sendall(head.encode() + text.encode())

        served: list[str] = []
        with listening(serve) as port, Client(f"http://127.0.0.1:{port}", key="k") as client:
            self.assertEqual([one["externalId"] for one in client.list("suppliers")], ["S-0", "S-1"])

    def test_the_rate_limit_holds_beside_the_same_headers_of_a_proxy(self) -> None:
        def serve(connection: socket.socket) -> None:
            at.append(time.monotonic())
            limits = "ratelimit-limit: 1\r\nratelimit-remaining: 0\r\nratelimit-reset: 1\r\n"
            text = '{"entities": [], "total": 0}'
            head = f"HTTP/1.1 200 OK\r\n{limits}{limits}connection: close\r\ncontent-length: {len(text)}\r\n\r\n"
            connection.sendall(head.encode() + text.encode())

        at: list[float] = []
        with listening(serve) as port, Client(f"http://127.0.0.1:{port}", key="k") as client:
            for _ in range(2):
                self.assertEqual(list(client.list("suppliers")), [])
        self.assertGreater(at[1] - at[0], 0.9)

    def test_an_address_without_a_service_is_unreachable(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        with self.assertRaisesRegex(Unreachable, rf"http://127\.0\.0\.1:{port} does not answer \(.*refused"):
            Client(f"http://127.0.0.1:{port}", key="k", patience_seconds=0).push("suppliers", [SUPPLIER])

    def test_no_redirect_is_followed_and_a_page_is_no_answer(self) -> None:
        for script in (
            {"status": 302, "headers": {"location": "http://127.0.0.1:1/"}},
            {"status": 200, "headers": {"content-type": "text/html"}, "text": "<h1>Sign in</h1>"},
        ):
            clock = SimulatedClock()
            with self.subTest(script=script), ScriptedService({"answers": [script]}, clock) as service:
                client = Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock)
                with self.assertRaisesRegex(RequestFailed, f"was answered {script['status']}"), client:
                    client.push("suppliers", [SUPPLIER])
                self.assertEqual(len(service.asked), 1)

    def test_what_is_no_address_or_no_credential_is_refused(self) -> None:
        for url in ("sync.example.com", "ftp://sync.example.com", ""):
            with self.subTest(url=url), self.assertRaisesRegex(ValueError, "^url: expected an address"):
                Client(url, key="k")
        wrong: list[Json] = [{}, {"key": "k", "token": "t"}, {"client_id": "c"}, {"key": "k", "client_secret": "s"}]
        for given in wrong:
            with self.subTest(given=given), self.assertRaisesRegex(TypeError, "expected one of"):
                Client("https://sync.example.com", **given)
        for wrong_key in ("isk_a\nb", "isk_a\u2019", ""):
            with self.subTest(key=wrong_key), self.assertRaisesRegex(ValueError, "^no key or token has such characters"):
                next(Client("https://sync.example.com", key=wrong_key).pages("suppliers"))

    def test_the_proxy_of_the_environment_is_used(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            proxy = f"http://me:p%40ss@127.0.0.1:{server.getsockname()[1]}"
            requests = ThreadPoolExecutor(1).submit(read_requests, server, 2)
            variables = {"http_proxy": proxy, "https_proxy": proxy, "no_proxy": ""}
            with mock.patch.dict(os.environ, variables, clear=True):
                for scheme in ("http", "https"):
                    client = Client(f"{scheme}://service.test", key="k", patience_seconds=0)
                    with self.assertRaises((RequestFailed, Unreachable)), client:
                        next(client.pages("suppliers"))
            plain, tunnel = requests.result(timeout=10)
        self.assertIn("GET http://service.test:80/api/v1/integration/suppliers?limit=100 HTTP/1.1", plain)
        self.assertIn("CONNECT service.test:443", tunnel)
        self.assertNotIn("Bearer", tunnel)
        for request in (plain, tunnel):
            self.assertIn("proxy-authorization: Basic bWU6cEBzcw==", request)

    def test_threads_that_share_a_client_keep_to_the_rate_limit_together(self) -> None:
        class EvenClock(SimulatedClock):
            def now(self) -> float:
                return time.monotonic()

            def wait(self, seconds: float) -> None:
                time.sleep(seconds)

        clock = EvenClock()
        with ScriptedService({"limit": {"requests": 20, "windowSeconds": 1}}, clock) as service:
            with Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock) as client:
                client.push("suppliers", [SUPPLIER])
                begun = time.monotonic()
                with ThreadPoolExecutor(8) as threads:
                    outcomes = list(threads.map(lambda _: client.push("suppliers", [SUPPLIER]).created, range(60)))
        self.assertEqual(outcomes, [1] * 60)
        self.assertGreater(time.monotonic() - begun, 2)
        self.assertLess(service.refused, 10)


def read_requests(server: socket.socket, count: int) -> list[str]:
    """The heads of so many requests, each of which is answered 403."""
    heads = []
    for _ in range(count):
        connection = server.accept()[0]
        with connection:
            heads.append(connection.recv(65_536).decode())
            connection.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
    return heads
