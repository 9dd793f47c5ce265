"""HTTP by the standard library: kept-alive connections, which threads share, and one deadline for a whole exchange."""

from __future__ import annotations

import base64
import http.client
import io
import os
import selectors
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from .call import Answer, Call

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Transport:
    def __init__(self, url: str, answer_seconds_max: float) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError(f"url: expected an address as https://sync.example.com, got {url!r}")
        self._is_secure = address.scheme == "https"
        self._host = address.hostname
        self._port = address.port or (443 if self._is_secure else 80)
        self._path = address.path
        proxy = None if proxy_bypass(self._host) else getproxies().get(address.scheme)
        self._proxy = urlsplit(proxy if "://" in proxy else f"http://{proxy}") if proxy else None
        self._answer_seconds_max = answer_seconds_max
        self._idle: list[_Connection] = []
        self._pid = os.getpid()

    def exchange(self, call: Call, headers: Mapping[str, str]) -> Answer:
        """Sends the call, and reads the whole answer. Raises OSError or HTTPException where the connection fails."""
        until = time.monotonic() + self._answer_seconds_max
        taken = self._take(until)
        connection = taken[0]
        try:
            sent = {**headers, **self._proxy_headers()} if not self._is_secure else headers
            connection.request(call.method, self._target(call.path), call.body, sent)
            with connection.getresponse() as response:
                text = response.read().decode()
        except BaseException:
            connection.close()
            raise
        if connection.sock is not None:
            self._idle.append(taken)
        # Of headers with one name, `getheader` joins the values: a proxy may add a `Link` to that of the service.
        given = {name.lower(): response.getheader(name, "") for name, _ in response.getheaders()}
        return Answer(response.status, given, text)

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[0].close()

    def _take(self, until: float) -> _Connection:
        # A process and its fork would read each other's answers.
        if self._pid != os.getpid():
            inherited, self._idle = self._idle, []
            # Only now: another thread that sees this number takes from the list.
            self._pid = os.getpid()
            for connection, _ in inherited:
                connection.close()
        while True:
            try:
                connection, timed = self._idle.pop()
            except IndexError:
                return self._open(until)
            # What a peer sends on an idle connection is its end.
            if not _is_readable(timed.inner):
                timed.until = until
                return connection, timed
            connection.close()

    def _open(self, until: float) -> _Connection:
        kind = http.client.HTTPSConnection if self._is_secure else http.client.HTTPConnection
        timeout = self._answer_seconds_max
        if self._proxy is None:
            connection = kind(self._host, self._port, timeout=timeout)
        else:
            connection = kind(self._proxy.hostname or "", self._proxy.port or 80, timeout=timeout)
            if self._is_secure:
                connection.set_tunnel(self._host, self._port, self._proxy_headers())
        connection.connect()
        timed = _TimedSocket(connection.sock, until)
        connection.sock = timed
        return connection, timed

    def _target(self, path: str) -> str:
        if self._proxy is None or self._is_secure:
            return self._path + path
        return f"http://{self._host}:{self._port}{self._path}{path}"

    def _proxy_headers(self) -> dict[str, str]:
        if self._proxy is None or self._proxy.username is None:
            return {}
        login = f"{unquote(self._proxy.username)}:{unquote(self._proxy.password or '')}"
        return {"proxy-authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


class _TimedSocket:
    """A socket with one deadline: its own time-out begins again with each byte, and so never ends a slow answer."""

    def __init__(self, inner: socket.socket, until: float) -> None:
        self.inner = inner
        self.until = until

    def begin(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.inner.settimeout(left)

    def sendall(self, data: ReadableBuffer) -> None:
        self.begin()
        self.inner.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        # `http.client` closes the socket before it reads an answer with `Connection: close`; a file keeps a socket open.
        return io.BufferedReader(_Received(self, self.inner.makefile("rb", buffering=0)))

    def close(self) -> None:
        self.inner.close()


class _Received(io.RawIOBase):
    def __init__(self, source: _TimedSocket, file: socket.SocketIO) -> None:
        self._source = source
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        self._source.begin()
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


_Connection: TypeAlias = tuple[http.client.HTTPConnection, _TimedSocket]


def _is_readable(sock: socket.socket) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))
