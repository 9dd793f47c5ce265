"""The header `Authorization`: a given key or token, or a token that is fetched with a client id and secret."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Protocol
from urllib.parse import quote_plus

from .call import Call, Send
from .clock import Clock
from .errors import RequestFailed
from .lock import Lock

#: How long before a token expires the client fetches a new one.
SPARE_SECONDS = 60


class Authorization(Protocol):
    def value(self) -> str: ...

    def renew(self, refused: str) -> bool:
        """After the service refused a value with 401: forgets the value, and returns whether a new one may be valid."""
        ...


class Given:
    """A key or a token that stays, or a function that returns the present token."""

    def __init__(self, token: str | Callable[[], str]) -> None:
        self._token = token

    def value(self) -> str:
        token = (self._token if isinstance(self._token, str) else self._token()).strip()
        # By RFC 6750. The message of the standard library would show the token.
        if not re.fullmatch(r"[\w~+/.=-]+", token, re.ASCII):
            raise ValueError("no key or token has such characters: was it copied whole?")
        return f"Bearer {token}"

    def renew(self, refused: str) -> bool:
        return not isinstance(self._token, str)


class Fetched:
    """Tokens of `POST /oauth/token`, of which the calls of all threads share one until it expires."""

    def __init__(self, client_id: str, client_secret: str, send: Send, clock: Clock) -> None:
        # RFC 6749 §2.3.1: client id and secret are form-encoded before they are joined for Basic authentication.
        joined = f"{quote_plus(client_id)}:{quote_plus(client_secret)}"
        basic = base64.b64encode(joined.encode()).decode()
        form = "application/x-www-form-urlencoded"
        self._call = Call(
            "POST",
            "/oauth/token",
            b"grant_type=client_credentials",
            {"authorization": f"Basic {basic}", "content-type": form},
        )
        self._send = send
        self._clock = clock
        self._lock = Lock()
        self._current: str | None = None
        self._until = 0.0

    def value(self) -> str:
        with self._lock.inner:
            if self._current is None or self._until < self._clock.now():
                self._current = self._fetch()
            return self._current

    def _fetch(self) -> str:
        answer = self._send(self._call)
        token, seconds = answer.body.get("access_token"), answer.body.get("expires_in", 3_600)
        if not isinstance(token, str):
            raise RequestFailed("POST /oauth/token", answer.status, answer.headers, answer.text)
        self._until = self._clock.now() + float(seconds) - SPARE_SECONDS
        return f"Bearer {token}"

    def renew(self, refused: str) -> bool:
        with self._lock.inner:
            if self._current == refused:
                self._current = None
        return True
