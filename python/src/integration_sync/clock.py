"""The time by which calls wait: an even clock, which goes on when the machine's clock is set."""

import time
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float: ...

    def wait(self, seconds: float) -> None: ...


class MachineClock:
    def now(self) -> float:
        return time.monotonic()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)
