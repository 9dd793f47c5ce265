"""The client of one integration: its calls share one key or token, and one pacer, which keeps to the rate limit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload
from urllib.parse import quote

from .call import Answer, Call
from .clock import Clock, MachineClock
from .credentials import Authorization, Fetched, Given
from .exchange import ANSWER_SECONDS_MAX, Exchange
from .listing import FeedQuery, ListQuery, Page, PollPage, PollQuery, RunQuery, entities_of, pages_of, poll_feed, poll_records
from .pushing import Kind, Pushing, PushOutcome, sum_of
from .rows import Items
from .types import (
    ArchiveAnswer,
    Expectations,
    FeedEvent,
    ListedBatch,
    ListedProduct,
    ListedSupplier,
    SetExpectations,
    SyncRun,
    SyncRunInFull,
)

IDS_MAX = 500


class Client:
    """Give it a `key`, a `token` (or a function that returns the present one), or `client_id` and `client_secret`.

    Threads may share a client. `strict=False` has the service ignore unknown fields and parameters, which it refuses otherwise.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        token: str | Callable[[], str] | None = None,
        client_id: str | None = None,
        client_secret: str | None = None,
        strict: bool = True,
        patience_seconds: float = 300,
        answer_seconds_max: float = ANSWER_SECONDS_MAX,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or MachineClock()
        self._exchange = Exchange(url, patience_seconds, self._clock, answer_seconds_max)
        self._authorization = self._authorize(key, token, client_id, client_secret)
        self._headers = {"prefer": "handling=strict"} if strict else {}
        self._pushing = Pushing(self._send)

    def _authorize(
        self,
        key: str | None,
        token: str | Callable[[], str] | None,
        client_id: str | None,
        client_secret: str | None,
    ) -> Authorization:
        login = client_id is not None and client_secret is not None
        given = token if key is None else key
        if (key is not None) + (token is not None) + login != 1 or (client_id is None) != (client_secret is None):
            raise TypeError("expected one of: key; token; client_id and client_secret")
        if given is not None:
            return Given(given)
        return Fetched(client_id or "", client_secret or "", self._exchange.send, self._clock)

    def _send(self, call: Call) -> Answer:
        types = {} if call.body is None else {"content-type": "application/json"}
        path = f"/api/v1/integration/{call.path}"
        return self._exchange.send(
            Call(call.method, path, call.body, {**self._headers, **types}), self._authorization
        )

    def push(self, kind: Kind, items: Items, *, auto_create_dds: bool | None = None) -> PushOutcome:
        """Pushes any number of items: mappings, or the rows of a frame of pandas or Polars.

        Items are read as their requests are sent. An iterable that fails, or an item that JSON cannot carry, ends the
        push; the requests before have taken effect, and a note of the error says how many.
        """
        return sum_of(self.pushes(kind, items, auto_create_dds=auto_create_dds))

    def pushes(self, kind: Kind, items: Items, *, auto_create_dds: bool | None = None) -> Iterator[PushOutcome]:
        """As `push`, with the outcome of each request as it is answered. It pushes as far as it is iterated."""
        return self._pushing.outcomes(f"{kind}?details=true", kind, items, {"autoCreateDDS": auto_create_dds})

    def plan(
        self,
        kind: Kind,
        items: Items,
        *,
        auto_create_dds: bool | None = None,
        assume: Sequence[str] | None = None,
    ) -> PushOutcome:
        """What a push would do; it writes nothing. `assume` has ids of referenced records that count as existing."""
        besides = {"autoCreateDDS": auto_create_dds, "assume": assume}
        return sum_of(self._pushing.outcomes(f"{kind}/plan", kind, items, besides))

    def archive(self, kind: Kind, external_ids: Iterable[str]) -> ArchiveAnswer:
        # A text would count as its characters, which may be ids of other records.
        if isinstance(external_ids, str):
            raise TypeError("external_ids: expected several ids, got one str")
        whole: ArchiveAnswer = {"success": True, "archived": 0, "errors": [], "records": []}
        ids = iter(external_ids)
        while some := list(itertools.islice(ids, IDS_MAX)):
            body = json.dumps({"externalIds": some}).encode()
            one: ArchiveAnswer = self._send(Call("POST", f"{kind}/archive", body)).body
            whole["success"] = whole["success"] and one["success"]
            whole["archived"] += one["archived"]
            whole["errors"] += one["errors"]
            whole["records"] += one["records"]
        return whole

    @overload
    def pages(self, kind: Literal["suppliers"], **query: Unpack[ListQuery]) -> Iterator[Page[ListedSupplier]]: ...
    @overload
    def pages(self, kind: Literal["products"], **query: Unpack[ListQuery]) -> Iterator[Page[ListedProduct]]: ...
    @overload
    def pages(self, kind: Literal["batches"], **query: Unpack[ListQuery]) -> Iterator[Page[ListedBatch]]: ...
    def pages(self, kind: Kind, **query: Unpack[ListQuery]) -> Iterator[Page[Any]]:
        """The records page by page, with `total`, and with the time from which the next poll goes on."""
        return pages_of(self._send, kind, query)

    @overload
    def poll(self, kind: Literal["suppliers"], **how: Unpack[PollQuery]) -> Iterator[PollPage[ListedSupplier]]: ...
    @overload
    def poll(self, kind: Literal["products"], **how: Unpack[PollQuery]) -> Iterator[PollPage[ListedProduct]]: ...
    @overload
    def poll(self, kind: Literal["batches"], **how: Unpack[PollQuery]) -> Iterator[PollPage[ListedBatch]]: ...
    def poll(self, kind: Kind, **how: Unpack[PollQuery]) -> Iterator[PollPage[Any]]:
        """The records that changed since an earlier poll: each once, as it is now."""
        return poll_records(self._send, self._clock, kind, **how)

    def events(self, **how: Unpack[FeedQuery]) -> Iterator[PollPage[FeedEvent]]:
        """The events, in order. Without `after` and `since`, the feed begins now."""
        return poll_feed(self._send, **how)

    def runs(self, **query: Unpack[RunQuery]) -> Iterator[SyncRun]:
        return entities_of(pages_of(self._send, "sync-runs", query))

    def run(self, sync_id: str) -> SyncRunInFull:
        run: SyncRunInFull = self._send(Call("GET", f"sync-runs/{quote(sync_id, safe='')}")).body
        return run

    def expectations(self) -> Expectations:
        """How often each kind of record is to be pushed, and whether a push is overdue."""
        read: Expectations = self._send(Call("GET", "expectations")).body
        return read

    def set_expectations(self, change: SetExpectations) -> Expectations:
        """A kind that is left out stays as it is; None ends the expectation of a kind."""
        now: Expectations = self._send(Call("PUT", "expectations", json.dumps(change).encode())).body
        return now

    # Below this method `list` is no longer the built-in type.
    @overload
    def list(self, kind: Literal["suppliers"], **query: Unpack[ListQuery]) -> Iterator[ListedSupplier]: ...
    @overload
    def list(self, kind: Literal["products"], **query: Unpack[ListQuery]) -> Iterator[ListedProduct]: ...
    @overload
    def list(self, kind: Literal["batches"], **query: Unpack[ListQuery]) -> Iterator[ListedBatch]: ...
    def list(self, kind: Kind, **query: Unpack[ListQuery]) -> Iterator[Any]:
        """The records one by one; a page is read when its first record is asked for."""
        return entities_of(pages_of(self._send, kind, query))

    def close(self) -> None:
        """Closes the kept-alive connections. The client can still be used."""
        self._exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
