"""Cuts any number of items into requests that the service takes: 500 items at most, and not too many bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    #: Each item as JSON.
    texts: list[bytes]
    #: The index of the first of these items among all items of the call.
    start: int


@dataclass
class Bounds:
    """The service takes bodies of 5 MiB, unless an operator has set less."""

    items: int = 500
    bytes: float = 4.5 * 1024 * 1024


def cut(texts: Iterator[bytes], bounds: Bounds) -> Iterator[Piece]:
    """The pieces, each read when it is asked for, and one item ahead."""
    start = 0
    piece: list[bytes] = []
    size = 0
    for text in texts:
        # Each item has a comma. A single item is sent whatever its size.
        if piece and (len(piece) >= bounds.items or size + len(text) + 1 > bounds.bytes):
            yield Piece(piece, start)
            start += len(piece)
            piece, size = [], 0
        piece.append(text)
        size += len(text) + 1
    # A push of no items is a push, too.
    if piece or start == 0:
        yield Piece(piece, start)


def halves(piece: Piece) -> tuple[Piece, Piece]:
    middle = (len(piece.texts) + 1) // 2
    return Piece(piece.texts[:middle], piece.start), Piece(piece.texts[middle:], piece.start + middle)
