"""What a call may raise: the service refused the call, or did not answer it in time."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TypedDict


class ProblemEntry(TypedDict):
    pointer: str
    detail: str


class RequestFailed(Exception):
    """The service answered with an error that would be the same if the call were repeated."""

    def __init__(self, what: str, status: int, headers: Mapping[str, str], text: str) -> None:
        problem = _read_problem(text)
        said = f"a redirect to {headers['location']}" if "location" in headers else text[:200]
        super().__init__(f"{what} was answered {status}: {problem.get('detail', said)}")
        self._given = (what, status, headers, text)
        self.status = status
        #: Stable, for programs: `invalid_request`, `insufficient_scope`. Empty if something else answered, such as a proxy.
        self.code = str(problem.get("code", problem.get("error", "")))
        self.request_id = headers.get("x-request-id")
        errors = problem.get("errors", [])
        self.errors: list[ProblemEntry] = errors if isinstance(errors, list) else []
        scope = re.search(r'scope="([^"]*)"', headers.get("www-authenticate", ""))
        #: The scope that the key or token lacks, after 403.
        self.scope = scope and scope[1]

    def __reduce__(self) -> tuple[object, ...]:
        # `multiprocessing` makes an error again in another process; an exception's `args` are the message alone.
        return type(self), self._given, self.__dict__


class Unreachable(Exception):
    """Until the patience ended, no answer came, or only 429, 502, 503 or 504. The same call may be made again."""


def _read_problem(text: str) -> dict[str, object]:
    try:
        problem = json.loads(text)
    except ValueError:
        # A proxy may answer with an HTML page.
        return {}
    return problem if isinstance(problem, dict) else {}
