"""Makes one call: waits until the rate limit allows it, sends it, and repeats it after 429, 502, 503, 504 or a broken
connection. Repeating a push is safe: the same push again leaves the same records."""

from __future__ import annotations

import http.client
import json
import random
import re

from .call import Answer, Call
from .clock import Clock
from .credentials import Authorization
from .errors import RequestFailed, Unreachable
from .rate_limit import Pacer
from .transport import Transport

#: Longer than the service takes to answer, which is 30 s at most.
ANSWER_SECONDS_MAX = 40.0
BACK_OFF_SECONDS_FIRST = 0.25
BACK_OFF_SECONDS_MAX = 20.0

#: Statuses after which a call is repeated. A proxy answers 502 while a gateway is replaced.
ASK_FOR_PATIENCE = frozenset((429, 502, 503, 504))


class _Failure:
    """The reason to repeat a call."""

    def __init__(self, error: Exception, *, is_refused: bool = False, after: float = 0) -> None:
        self.error = error
        #: Whether the rate limit refused the call (429).
        self.is_refused = is_refused
        self.after = after


class Exchange:
    def __init__(self, url: str, patience_seconds: float, clock: Clock, answer_seconds_max: float) -> None:
        self._root = re.sub("/api/v1/integration$", "", url.rstrip("/"))
        self._transport = Transport(self._root, answer_seconds_max)
        self._patience = patience_seconds
        self._clock = clock
        self._pacer = Pacer(clock)

    def send(self, call: Call, authorization: Authorization | None = None) -> Answer:
        until = self._clock.now() + self._patience
        failures = 0
        is_renewed = False
        while True:
            value = authorization.value() if authorization else None
            try:
                outcome = self._attempt(call, until, value)
            except RequestFailed as error:
                if is_renewed or error.status != 401 or authorization is None or value is None:
                    raise
                is_renewed = authorization.renew(value)
                if not is_renewed:
                    raise
                continue
            if isinstance(outcome, Answer):
                return outcome
            # After a 429 with Retry-After, the pacer delays the next attempt.
            wait = 0.0 if outcome.is_refused and outcome.after > 0 else max(_back_off(failures), outcome.after)
            if self._clock.now() + max(wait, outcome.after) > until:
                raise Unreachable(str(outcome.error)) from outcome.error
            self._clock.wait(wait)
            failures += 1

    def close(self) -> None:
        self._transport.close()

    def _attempt(self, call: Call, until: float, value: str | None) -> Answer | _Failure:
        """The answer, or the reason to repeat the call. Raises an error that a repetition would not change."""
        what = f"{call.method} {call.path.split('?')[0]}"
        window = self._pacer.turn(until)
        sent_at = self._clock.now()
        try:
            answer = self._transport.exchange(call, {**({"authorization": value} if value else {}), **call.headers})
            self._pacer.learn(window, answer.headers, sent_at)
            # A proxy may answer 200 with a page of its own, or with nothing.
            is_json = "json" in answer.headers.get("content-type", "json") and answer.text.lstrip().startswith("{")
            # The body is read here, so that a call whose answer was cut off is repeated.
            if 200 <= answer.status < 300 and is_json and isinstance(answer.body, dict):
                return answer
        except (OSError, http.client.HTTPException, UnicodeDecodeError, json.JSONDecodeError) as cause:
            error = Unreachable(f"{what}: {self._root} does not answer ({str(cause) or type(cause).__name__})")
            error.__cause__ = cause
            return _Failure(error)
        failed = RequestFailed(what, answer.status, answer.headers, answer.text)
        if answer.status not in ASK_FOR_PATIENCE:
            raise failed
        seconds = re.match(r"\d+(\.\d+)?", answer.headers.get("retry-after", ""))
        after = float(seconds[0]) if seconds else 0.0
        if answer.status == 429:
            self._pacer.hold(self._clock.now() + after)
        return _Failure(failed, is_refused=answer.status == 429, after=after)


def _back_off(failures: int) -> float:
    # Of a large exponent the power would be too large for a float.
    most = BACK_OFF_SECONDS_FIRST * 2.0 ** min(failures, 10)
    return min(most, BACK_OFF_SECONDS_MAX) * random.uniform(0.5, 1)
