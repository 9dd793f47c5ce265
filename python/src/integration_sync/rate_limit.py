"""When the next request may be sent, by the headers `RateLimit-Limit`, `-Remaining` and `-Reset` of answers. The service
counts in windows that begin with a request. `-Reset` is in whole seconds, so only the first answer of a window says
precisely when the window ends:

    request sent   answer: remaining = limit - 1, reset = length   the window ends length after the sending
    others         answer: remaining falls, reset is rounded up    the window ends no later than that
    none left      the next waits for the end, and a little more: requests do not all take the same time to arrive

A 429 holds all requests for its Retry-After, and makes "a little more" twice as long; each window makes it a tenth shorter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .clock import Clock
from .errors import Unreachable
from .lock import Lock

MARGIN_SECONDS_MIN = 0.02
MARGIN_SECONDS_MAX = 0.16


class Pacer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._limit: int | None = None
        self._length = 0.0
        self._window = 0
        self._left = 0
        self._ends_at = 0.0
        self._held_until = 0.0
        self._margin = MARGIN_SECONDS_MIN

    def turn(self, until: float) -> int:
        """Waits until a request may be sent, and returns the number of its window. Raises if a 429 delays it beyond `until`."""
        while True:
            with self._lock.inner:
                missing = self._missing()
                if missing <= 0:
                    self._left -= 1
                    return self._window
                if self._held_until > max(until, self._clock.now()):
                    raise Unreachable("The Retry-After of a 429 is longer than a call may take.")
            self._clock.wait(missing)

    def _missing(self) -> float:
        now = self._clock.now()
        if self._held_until > now:
            return self._held_until - now
        if self._limit is None:
            return 0
        following = self._ends_at + self._margin
        if now >= following:
            self._window += 1
            self._left = self._limit
            self._ends_at = now + self._length
            self._margin = max(self._margin * 0.9, MARGIN_SECONDS_MIN)
        return 0 if self._left > 0 else following - now

    def learn(self, answered: int, headers: Mapping[str, str], sent_at: float) -> None:
        """Takes in the headers of the answer to a request of that window."""
        limits = _read_limits(headers)
        if limits is None:
            return
        limit, remaining, reset = limits
        with self._lock.inner:
            is_known = self._limit is not None
            self._limit = limit
            # An answer to a request of an earlier window says nothing about this window.
            if is_known and answered != self._window:
                return
            end = self._clock.now() + reset
            if remaining == limit - 1:
                self._length = float(reset)
                self._ends_at = sent_at + reset
            else:
                self._length = max(self._length, reset)
                self._ends_at = min(self._ends_at, end) if is_known else end
            self._left = min(self._left, remaining) if is_known else remaining

    def hold(self, until: float) -> None:
        """Delays all requests until that time."""
        with self._lock.inner:
            self._held_until = max(self._held_until, until)
            self._ends_at = min(self._ends_at, until - self._margin)
            self._margin = min(2 * self._margin, MARGIN_SECONDS_MAX)


def _read_limits(headers: Mapping[str, str]) -> tuple[int, int, int] | None:
    # A proxy may add headers of the same names: of each, the first number counts.
    texts = [headers.get(f"ratelimit-{name}", "") for name in ("limit", "remaining", "reset")]
    numbers = [int(one[0]) for text in texts if (one := re.match("[0-9]+", text))]
    if len(numbers) < 3 or numbers[0] == 0:
        return None
    limit, remaining, reset = numbers
    return limit, remaining, reset
