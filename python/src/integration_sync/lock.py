"""A lock that is free in a fork: there, the thread that held the lock does not run, and would never release it.

`with` gets the inner lock, of the standard library: an `__enter__` in Python may be interrupted after it has acquired a lock.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class Lock:
    def __init__(self) -> None:
        self.inner = threading.Lock()
        _locks.add(self)

    def free(self) -> None:
        self.inner = threading.Lock()


_locks: WeakSet[Lock] = WeakSet()


def _free_all() -> None:
    for lock in _locks:
        lock.free()


# Windows has no forks.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
