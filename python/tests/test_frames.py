"""Frames of pandas and Polars go in, and come out. Needs both."""

from __future__ import annotations

import json
import unittest
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pandas
import polars

from integration_sync import Client

from cases import Json, ScriptedService, SimulatedClock

COLUMNS: dict[str, list[Any]] = {
    "externalId": ["B-1", "B-2"],
    "quantity": [1.5, None],
    "harvest": [None, date(2026, 3, 31)],
    "labels": [["FSC", "PEFC"], []],
    "name": ["Grün", None],
}
ITEMS = [
    {"externalId": "B-1", "quantity": 1.5, "labels": ["FSC", "PEFC"], "name": "Grün"},
    {"externalId": "B-2", "harvest": "2026-03-31", "labels": []},
]


class Frames(unittest.TestCase):
    def setUp(self) -> None:
        self.clock = SimulatedClock()
        self.service = self.enterContext(ScriptedService({}, self.clock))
        self.client = self.enterContext(Client(f"http://127.0.0.1:{self.service.port}", key="k", clock=self.clock))

    def pushed(self, frame: pandas.DataFrame | polars.DataFrame) -> list[Json]:
        before = len(self.service.asked)
        self.client.push("batches", frame)
        return [item for asked in self.service.asked[before:] for item in json.loads(asked.body)["batches"]]

    def test_each_row_is_an_item_and_an_empty_cell_leaves_its_field_as_it_is(self) -> None:
        self.assertEqual(self.pushed(pandas.DataFrame(COLUMNS)), ITEMS)
        self.assertEqual(self.pushed(polars.DataFrame(COLUMNS)), ITEMS)

    def test_every_empty_cell_of_pandas_is_one(self) -> None:
        frame = pandas.DataFrame(
            {
                "externalId": ["S-1"] * 4,
                "a": pandas.array([1, None, 3, 4], dtype="Int64"),
                "b": pandas.to_datetime(["2026-03-31T12:00:00Z", None, None, None]),
                "c": [float("nan"), pandas.NA, None, pandas.NaT],
                "d": pandas.array([True, None, False, None], dtype="boolean"),
            },
            index=[7, 7, 8, 9],
        )
        self.assertEqual(
            self.pushed(frame),
            [
                {"externalId": "S-1", "a": 1, "b": "2026-03-31T12:00:00+00:00", "d": True},
                {"externalId": "S-1"},
                {"externalId": "S-1", "a": 3, "d": False},
                {"externalId": "S-1", "a": 4},
            ],
        )

    def test_types_of_columns_are_sent_as_what_they_stand_for(self) -> None:
        noon = datetime(2026, 3, 31, 12, tzinfo=timezone.utc)
        columns: dict[str, list[Any]] = {
            "externalId": ["S-1"],
            "decimal": [Decimal("1.10")],
            "time": [noon],
            "number": [7],
        }
        sent = [{"externalId": "S-1", "decimal": 1.1, "time": "2026-03-31T12:00:00+00:00", "number": 7}]
        self.assertEqual(self.pushed(polars.DataFrame(columns)), sent)
        self.assertEqual(self.pushed(pandas.DataFrame(columns)), sent)

    def test_a_nan_of_polars_is_a_number_and_refused_and_so_is_a_time_without_zone(self) -> None:
        for frame, reason in [
            (polars.DataFrame({"externalId": ["B-1"], "quantity": [float("nan")]}), "item 0, quantity: nan"),
            (polars.DataFrame({"externalId": ["B-1"], "at": [datetime(2026, 3, 31)]}), "item 0, at: .* no time zone"),
            (pandas.DataFrame({"externalId": ["B-1"], "at": [datetime(2026, 3, 31)]}), "item 0, at: .* no time zone"),
            (pandas.DataFrame({"externalId": ["B-1"], "quantity": [float("inf")]}), "item 0, quantity: inf"),
        ]:
            wrong: Any = frame
            with self.assertRaisesRegex(ValueError, reason):
                self.client.push("batches", wrong)
        self.assertEqual(self.service.asked, [])

    def test_two_columns_of_one_name_are_refused(self) -> None:
        frame = pandas.DataFrame([["S-1", "a", "b"]], columns=["externalId", "name", "name"])
        with self.assertRaisesRegex(ValueError, "two columns have the name 'name'"):
            self.client.push("suppliers", frame)

    def test_rows_and_columns_are_all_sent_also_two_hundred(self) -> None:
        columns = {f"c{index}": [f"{index}"] * 1_201 for index in range(200)} | {
            "externalId": [f"S-{index}" for index in range(1_201)]
        }
        first: list[Json] | None = None
        for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
            sent = self.pushed(frame)
            self.assertEqual([item["externalId"] for item in sent], columns["externalId"])
            self.assertEqual(len(sent[0]), 201)
            first = first or sent
            self.assertEqual(sent, first)

    def test_a_listing_becomes_a_frame(self) -> None:
        entities = [{"externalId": f"S-{index}", "name": "One"} for index in range(3)]
        page: Json = {"then": {"status": 200, "body": {"entities": entities, "total": 3}}}
        with ScriptedService(page, self.clock) as service:
            with Client(f"http://127.0.0.1:{service.port}", key="k", clock=self.clock) as client:
                self.assertEqual(polars.DataFrame(client.list("suppliers")).to_dicts(), entities)
                self.assertEqual(pandas.DataFrame(client.list("suppliers")).to_dict("records"), entities)
