"""Items as JSON, and the rows of data frames as items. What JSON cannot carry is refused by the name of its field."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol, TypeAlias
from uuid import UUID

Item: TypeAlias = Mapping[str, object]

#: How many rows of a frame of pandas become items in one go.
ROWS_AT_ONCE = 500


class PolarsFrame(Protocol):
    def iter_rows(self, *, named: Any, buffer_size: int) -> Iterator[Any]: ...


class PandasFrame(Protocol):
    @property
    def iloc(self) -> Any: ...

    def itertuples(self, index: bool, name: str | None) -> Iterable[tuple[Any, ...]]: ...


#: Mappings, one for each item, or a frame with a row for each. The field of an empty cell stays as it is.
Items: TypeAlias = Iterable[Item] | PolarsFrame | PandasFrame


def items_of(items: Items) -> Iterator[Item]:
    """One item after the other, read no sooner than it is asked for."""
    source: Any = items
    if hasattr(source, "iter_rows"):
        return (_without_empty(row.items()) for row in source.iter_rows(named=True, buffer_size=ROWS_AT_ONCE))
    if hasattr(source, "itertuples"):
        return _rows_of_pandas(source)
    if isinstance(source, (str, bytes, Mapping)) or not isinstance(source, Iterable):
        raise TypeError(f"expected items or a data frame, got one {type(source).__name__}")
    return iter(source)


def _rows_of_pandas(frame: Any) -> Iterator[Item]:
    names = list(frame.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns have the name {twice!r}")
    for start in range(0, len(frame), ROWS_AT_ONCE):
        rows = frame.iloc[start : start + ROWS_AT_ONCE]
        # Of a column with numbers pandas knows an empty cell only as NaN; None is the same for every type.
        whole = rows.astype(object).where(rows.notna(), None)
        for values in whole.itertuples(index=False, name=None):
            yield _without_empty(zip(names, values, strict=True))


def _without_empty(cells: Iterable[tuple[str, object]]) -> Item:
    return {name: value for name, value in cells if value is not None}


def json_of(item: object, index: int) -> bytes:
    """The JSON of an item. Raises TypeError or ValueError, which names the item by its index and the wrong field."""
    if not isinstance(item, Mapping):
        raise TypeError(f"item {index}: expected a mapping of fields, got {type(item).__name__}")
    try:
        return _encode(dict(item))
    except (TypeError, ValueError):
        for name, value in item.items():
            try:
                _encode(value)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"item {index}, {name}: {_reason(error, value)}") from None
        raise


def _reason(error: Exception, value: object) -> str:
    if isinstance(value, (float, Decimal)):
        return f"{value} is no number of JSON; leave the field out, or give None to clear it"
    return "a text has a lone surrogate" if isinstance(error, UnicodeEncodeError) else str(error)


def _encode(value: object) -> bytes:
    text = json.dumps(value, default=plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()


def plain(value: Any) -> object:
    """Of a value that JSON lacks the one that stands for it."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone; give it one, or give a date for a whole day")
        return value.isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, UUID):
        return str(value)
    # A scalar or an array of NumPy.
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a value of type {type(value).__name__} has no place in JSON")
