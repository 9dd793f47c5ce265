"""Listings as iterators: each follows the header `Link` from page to page, and shows no record twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar
from urllib.parse import urlencode

from .call import Call, Send
from .clock import Clock
from .rows import plain
from .types import FeedEvent

Entity = TypeVar("Entity")

#: As the service takes it, such as `2026-03-31T12:00:00Z`, or a date, or a datetime with a time zone.
Time: TypeAlias = str | date


@dataclass(frozen=True)
class Page(Generic[Entity]):
    entities: list[Entity]
    total: int
    #: The `since` or `changed_since` of the next poll.
    next_since: str | None
    is_last: bool


@dataclass(frozen=True)
class PollPage(Generic[Entity]):
    entities: list[Entity]
    #: The next `after` of the feed; for records the next `changed_since`, on the last page of a walk only.
    next: str | None


class ListQuery(TypedDict, total=False):
    #: Only records that were synced after this time.
    since: Time | None
    #: Only records that changed after this time; not beside `since`.
    changed_since: Time | None
    until: Time | None
    #: Only the records with these ids: 100 at most.
    external_id: Iterable[str]
    #: Whether each entity has `details`: its fields, and when they changed.
    details: bool
    #: How many records a page has at most: 100 unless given.
    limit: int


class PollQuery(TypedDict, total=False):
    #: The `next` that an earlier poll gave; without it, the first walk shows all records.
    changed_since: Time | None
    #: True unless given.
    details: bool
    #: The pause between walks, which then go on for ever. Without it, there is one walk through the changes.
    every_seconds: float | None


class RunQuery(TypedDict, total=False):
    since: Time | None
    entity_type: Literal["supplier", "product", "batch"]
    #: Only pushes of which an item failed.
    failed: Literal[True]


class FeedQuery(TypedDict, total=False):
    #: The `next` of an earlier page.
    after: str | None
    #: Only events with a later `timestamp`; not beside `after`.
    since: Time | None
    #: Only events of these kinds.
    events: Sequence[str] | None
    #: How many events a page has at most: 100 unless given.
    limit: int | None
    #: Makes each call wait for an event (25 s at most), for ever. Without it or at 0, present events end the iterator.
    wait_seconds: int | None


def pages_of(send: Send, path: str, query: Mapping[str, object]) -> Iterator[Page[Any]]:
    ids = query.get("external_id")
    # Several ids may also be a set or a generator.
    if isinstance(ids, Iterable) and not isinstance(ids, str):
        query = {**query, "external_id": list(ids)}
        # In a query, no ids would be no filter: the service would list all records.
        if not query["external_id"]:
            return
    following: str | None = path + query_of({"limit": 100, **query})
    while following is not None:
        answer = send(Call("GET", following))
        following = _next_of(answer.headers)
        yield Page(answer.body["entities"], answer.body["total"], answer.headers.get("x-next-since"), following is None)


def entities_of(pages: Iterator[Page[Entity]]) -> Iterator[Entity]:
    return (entity for page in pages for entity in page.entities)


def poll_records(
    send: Send,
    clock: Clock,
    kind: str,
    changed_since: Time | None = None,
    details: bool = True,
    every_seconds: float | None = None,
) -> Iterator[PollPage[Any]]:
    while True:
        reached: str | None = None
        for page in pages_of(send, kind, {"changed_since": changed_since, "details": details}):
            # The time of the first page is the safe one: the pages of this walk show every change up to it.
            reached = reached or page.next_since
            yield PollPage(page.entities, reached if page.is_last else None)
        if every_seconds is None:
            return
        changed_since = reached
        clock.wait(every_seconds)


def poll_feed(
    send: Send,
    after: str | None = None,
    since: Time | None = None,
    events: Sequence[str] | None = None,
    limit: int | None = None,
    wait_seconds: int | None = None,
) -> Iterator[PollPage[FeedEvent]]:
    kinds = None if events is None else ",".join(events)
    while True:
        begin = since if after is None else None
        query = {"after": after, "since": begin, "events": kinds, "limit": limit, "wait": wait_seconds}
        page = send(Call("GET", f"events{query_of(query)}")).body
        after = page["next"]
        yield PollPage(page["events"], after)
        if not wait_seconds and not page["more"]:
            return


def query_of(query: Mapping[str, object]) -> str:
    """The query string; a name such as `changed_since` becomes `changedSince`."""
    pairs = [
        (re.sub("_(.)", lambda match: match[1].upper(), name), _text_of(one))
        for name, value in query.items()
        if value is not None
        for one in (value if isinstance(value, (list, tuple)) else (value,))
    ]
    return f"?{urlencode(pairs)}" if pairs else ""


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(plain(value) if isinstance(value, date) else value)


def _next_of(headers: Mapping[str, str]) -> str | None:
    """The path of the next page, without the base path."""
    link = re.search(r'<([^<>]+)>;\s*rel="next"', headers.get("link", ""))
    return link and re.sub("^.*?/api/v1/integration/", "", link[1])
