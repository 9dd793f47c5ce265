"""What one HTTP call of the client sends, and the answer that it gets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Call:
    method: str
    #: The path with its query.
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    status: int
    #: With names in lower case.
    headers: Mapping[str, str]
    text: str

    @cached_property
    def body(self) -> Any:
        return json.loads(self.text)


Send = Callable[[Call], Answer]
