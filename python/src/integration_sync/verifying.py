"""Verifies the signature of a delivery, by Standard Webhooks 1.0. The signature is of the received bytes: JSON that was
parsed and written again has another one."""

from __future__ import annotations

import base64
import hmac
import json
import re
import time
from collections.abc import Iterable
from typing import Literal, Protocol, TypeAlias, TypedDict

from .types import Event

WebhookRefusal: TypeAlias = Literal["missing_header", "too_old", "too_new", "no_match"]

#: A shorter key is refused, because anybody could sign with an empty one.
KEY_BYTES_MIN = 24


class WebhookRefused(Exception):
    """The delivery is not genuine, or an old one that was sent again: answer it with 400."""

    def __init__(self, reason: WebhookRefusal, message: str) -> None:
        super().__init__(message)
        self.reason: WebhookRefusal = reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, *self.args), self.__dict__


class TestDeliveryData(TypedDict):
    webhookId: str


class TestDelivery(TypedDict):
    """The body of a test delivery, which `POST …/test` asks for. A test delivery is no event."""

    event: Literal["webhook.test"]
    timestamp: str
    integrationId: str
    data: TestDeliveryData


class Headers(Protocol):
    """The headers of a request as http.server, Flask, Django, FastAPI and others have them, or a dict."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify_webhook(
    secret: str, headers: Headers, body: bytes | str, *, tolerance_seconds: float = 300
) -> Event | TestDelivery:
    """The event. `secret` is the `whsec_…` of the registration or rotation; `body` is as received, before any parser."""
    key = key_of(secret)
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        got = f"a value of type {type(body).__name__}"
        raise TypeError(f"body: pass the raw text or bytes as received, before any parser; got {got}")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp, signatures = (_needed(given, f"webhook-{name}") for name in ("id", "timestamp", "signature"))

    age = time.time() - (int(timestamp) if re.fullmatch("[0-9]{1,15}", timestamp) else 0)
    if age > tolerance_seconds:
        raise WebhookRefused("too_old", f"webhook-timestamp {timestamp} is too old")
    if age < -tolerance_seconds:
        raise WebhookRefused("too_new", f"webhook-timestamp {timestamp} is in the future")

    expected = hmac.digest(key, f"{event_id}.{timestamp}.".encode() + raw, "sha256")
    # During the rotation of a secret a delivery has two signatures; one valid signature is enough. The comparison takes
    # the same time for each, so its time tells a forger nothing.
    if not any(hmac.compare_digest(expected, one) for one in map(_signature_of, signatures.split(" "))):
        raise WebhookRefused("no_match", "no signature in webhook-signature fits the body and the secret")
    event: Event | TestDelivery = json.loads(raw)
    return event


def key_of(secret: str) -> bytes:
    """The key that a secret holds. Raises ValueError where a stranger could guess it."""
    key = _decode(secret.removeprefix("whsec_"))
    if len(key) < KEY_BYTES_MIN:
        raise ValueError("expected whsec_… as the registration returned it")
    return key


def _signature_of(text: str) -> bytes:
    return _decode(text[3:]) if text.startswith("v1,") else b""


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _needed(headers: dict[str, str], name: str) -> str:
    value = headers.get(name, "")
    if value == "":
        raise WebhookRefused("missing_header", f"the header {name} is missing")
    return value
