"""Pushes and plans any number of items: one request after the other, so that the later of two items with one id wins."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .call import Call, Send
from .errors import RequestFailed
from .rows import Items, items_of, json_of
from .splitting import Bounds, Piece, cut, halves
from .types import DdsEntry, ItemDetails, PushError, PushRecord

Kind: TypeAlias = Literal["suppliers", "products", "batches"]


@dataclass
class PushOutcome:
    """What became of items: of those of one request, or of all requests of a call."""

    success: bool = True
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    errors: list[PushError] = field(default_factory=list)
    records: list[PushRecord] = field(default_factory=list)
    #: The outcome of each item, with its index among all items of the call, and pointers to wrong values.
    details: list[ItemDetails] = field(default_factory=list)
    #: The drafted due-diligence statements; empty unless batches are pushed.
    dds_created: list[DdsEntry] = field(default_factory=list)
    #: The sync ids of the answered requests, under which `runs` lists them.
    sync_ids: list[str] = field(default_factory=list)

    def append(self, other: PushOutcome) -> None:
        self.success = self.success and other.success
        self.created += other.created
        self.updated += other.updated
        self.unchanged += other.unchanged
        self.errors += other.errors
        self.records += other.records
        self.details += other.details
        self.dds_created += other.dds_created
        self.sync_ids += other.sync_ids


class Pushing:
    def __init__(self, send: Send) -> None:
        self._send = send
        # Shared by all calls: after a gateway has refused a request as too large, later requests are smaller.
        self._bounds = Bounds()

    def outcomes(self, path: str, kind: Kind, items: Items, besides: Mapping[str, object]) -> Iterator[PushOutcome]:
        """The outcome of one request after the other. Items are read when their request is due."""
        rest = json.dumps({name: value for name, value in besides.items() if value is not None})[1:].encode()
        tail = b"]" + (rest if rest == b"}" else b"," + rest)

        def send(piece: Piece) -> PushOutcome:
            try:
                return self._request(path, b'{"%s":[' % kind.encode() + b",".join(piece.texts) + tail, piece.start)
            except RequestFailed as error:
                if error.status != 413:
                    raise
                if len(piece.texts) == 1:
                    return _too_large(kind, piece, error)
                self._narrow(piece, error)
            outcome = PushOutcome()
            for half in halves(piece):
                outcome.append(send(half))
            return outcome

        texts = (json_of(item, index) for index, item in enumerate(items_of(items)))
        for piece in cut(texts, self._bounds):
            yield send(piece)

    def _narrow(self, piece: Piece, error: RequestFailed) -> None:
        if error.code == "too_many_items":
            self._bounds.items = (len(piece.texts) + 1) // 2
        else:
            # The request may be larger than the bound: other refusals may have lowered it since the request was sent.
            self._bounds.bytes = min(self._bounds.bytes, sum(len(text) + 1 for text in piece.texts) / 2)

    def _request(self, path: str, body: bytes, start: int) -> PushOutcome:
        answer = self._send(Call("POST", path, body))
        got = answer.body
        sync_id = answer.headers.get("x-sync-id")
        for detail in got["details"]:
            detail["index"] += start
            for problem in detail["problems"]:
                problem["pointer"] = _moved(problem["pointer"], start)
            detail["ignored"] = [_moved(pointer, start) for pointer in detail["ignored"]]
        return PushOutcome(
            got["success"],
            got["created"],
            got["updated"],
            got["unchanged"],
            got["errors"],
            got["records"],
            got["details"],
            got.get("ddsCreated", []),
            [] if sync_id is None else [sync_id],
        )


def sum_of(outcomes: Iterator[PushOutcome]) -> PushOutcome:
    """All outcomes as one. An error on the way says how many items were answered before it."""
    whole = PushOutcome()
    try:
        for outcome in outcomes:
            whole.append(outcome)
    except Exception as error:
        if whole.records:
            error.add_note(f"The {len(whole.records)} items before were answered, in {len(whole.sync_ids)} pushes.")
        raise
    return whole


def _moved(pointer: str, start: int) -> str:
    """Moves `/suppliers/3/name` from the item's index in one request to its index among all items of the call."""
    moved: Callable[[re.Match[str]], str] = lambda match: f"{match[1]}{int(match[2]) + start}"
    return re.sub(r"^(/\w+/)(\d+)", moved, pointer)


def _too_large(kind: Kind, piece: Piece, error: RequestFailed) -> PushOutcome:
    """The outcome of an item that is too large even alone. It fails; other items are pushed."""
    external_id = json.loads(piece.texts[0]).get("externalId", "")
    return PushOutcome(
        success=False,
        errors=[{"externalId": external_id, "error": str(error)}],
        records=[{"externalId": external_id, "internalId": "", "status": "ERROR"}],
        details=[
            {
                "index": piece.start,
                "action": "failed",
                "changedFields": [],
                "problems": [
                    {"pointer": f"/{kind}/{piece.start}", "code": "wrong_value", "detail": str(error)}
                ],
                "ignored": [],
            }
        ],
    )
