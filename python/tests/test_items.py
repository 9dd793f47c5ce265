"""What is pushed: values of Python, and iterables that are read as requests are sent."""

from __future__ import annotations

import json
import unittest
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from integration_sync import Client, RequestFailed

from cases import Json, ScriptedService, SimulatedClock


class Items(unittest.TestCase):
    def setUp(self) -> None:
        clock = SimulatedClock()
        self.service = self.enterContext(ScriptedService({}, clock))
        self.client = self.enterContext(Client(f"http://127.0.0.1:{self.service.port}", key="k", clock=clock))

    def pushed(self, item: Json) -> Any:
        self.client.push("batches", [item])
        return json.loads(self.service.asked[-1].body)["batches"][0]

    def test_a_value_is_sent_as_what_it_stands_for(self) -> None:
        noon = datetime(2026, 3, 31, 12, tzinfo=timezone(timedelta(hours=2)))
        for value, sent in [
            (Decimal("1.10"), 1.1),
            (Decimal("7"), 7),
            (date(2026, 3, 31), "2026-03-31"),
            (noon, "2026-03-31T12:00:00+02:00"),
            (UUID(int=7), "00000000-0000-0000-0000-000000000007"),
            (None, None),
            (("FSC", "PEFC"), ["FSC", "PEFC"]),
        ]:
            with self.subTest(value=value):
                self.assertEqual(self.pushed({"externalId": "B-1", "x": value})["x"], sent)

    def test_a_value_that_json_lacks_is_refused_by_its_field_and_nothing_is_sent(self) -> None:
        for value, error, reason in [
            (float("nan"), ValueError, "item 1, quantity: nan is no number of JSON"),
            (float("-inf"), ValueError, "item 1, quantity: -inf is no number of JSON"),
            (Decimal("NaN"), ValueError, "item 1, quantity: NaN is no number of JSON"),
            (Decimal("Infinity"), ValueError, "item 1, quantity: Infinity is no number of JSON"),
            (datetime(2026, 3, 31), ValueError, "item 1, quantity: 2026-03-31 00:00:00 has no time zone"),
            ("\ud800", ValueError, "item 1, quantity: a text has a lone surrogate"),
            (b"7", TypeError, "item 1, quantity: a value of type bytes"),
            ([float("nan")], ValueError, "item 1, quantity: "),
            (object(), TypeError, "item 1, quantity: a value of type object"),
        ]:
            with self.subTest(value=value), self.assertRaisesRegex(error, f"^{reason}"):
                self.client.push("batches", [{"externalId": "B-0"}, {"externalId": "B-1", "quantity": value}])
        self.assertEqual(self.service.asked, [])

    def test_what_is_no_item_is_refused(self) -> None:
        for items, reason in [
            (["S-1"], "item 0: expected a mapping of fields, got str"),
            ([{"externalId": "S-1"}, None], "item 1: expected a mapping of fields, got NoneType"),
            ({"externalId": "S-1"}, "expected items or a data frame, got one dict"),
            ("S-1", "expected items or a data frame, got one str"),
            (7, "expected items or a data frame, got one int"),
        ]:
            wrong: Any = items
            with self.subTest(items=items), self.assertRaisesRegex(TypeError, reason):
                self.client.push("suppliers", wrong)
        self.assertEqual(self.service.asked, [])

    def test_a_generator_is_read_one_item_ahead_of_the_request_that_is_sent(self) -> None:
        ahead: list[int] = []

        def items() -> Iterator[Json]:
            for index in range(1_750):
                ahead.append(index - 500 * len(self.service.asked))
                yield {"externalId": f"S-{index}"}

        self.assertEqual(self.client.push("suppliers", items()).created, 1_750)
        self.assertEqual(max(ahead), 500)

    def test_pushes_read_as_far_as_they_are_iterated(self) -> None:
        read: list[int] = []

        def items() -> Iterator[Json]:
            for index in range(10_000):
                read.append(index)
                yield {"externalId": f"S-{index}"}

        outcomes = self.client.pushes("suppliers", items())
        self.assertEqual(read, [])
        self.assertEqual(next(outcomes).details[-1]["index"], 499)
        self.assertEqual(next(outcomes).details[-1]["index"], 999)
        self.assertEqual(len(read), 1_001)
        self.assertEqual(len(self.service.asked), 2)

    def test_an_iterable_that_fails_midway_ends_the_push_and_the_error_says_what_was_answered(self) -> None:
        class Lost(Exception):
            pass

        def items() -> Iterator[Json]:
            yield from ({"externalId": f"S-{index}"} for index in range(1_200))
            raise Lost("the cursor is closed")

        with self.assertRaisesRegex(Lost, "the cursor is closed") as lost:
            self.client.push("suppliers", items())
        self.assertEqual(lost.exception.__notes__, ["The 1000 items before were answered, in 2 pushes."])
        self.assertEqual(len(self.service.asked), 2)

    def test_an_error_of_the_service_says_what_was_answered_before(self) -> None:
        clock = SimulatedClock()
        script: Json = {"answers": ["created", {"status": 403, "body": {"code": "insufficient_scope"}}]}
        with ScriptedService(script, clock) as service:
            client = Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock)
            with self.assertRaises(RequestFailed) as refused:
                client.push("suppliers", ({"externalId": f"S-{index}"} for index in range(600)))
            client.close()
        self.assertEqual(refused.exception.__notes__, ["The 500 items before were answered, in 1 pushes."])

    def test_one_id_is_no_list_of_ids_to_archive(self) -> None:
        with self.assertRaisesRegex(TypeError, "^external_ids: expected several ids, got one str$"):
            self.client.archive("batches", "12")
        self.assertEqual(self.service.asked, [])

    def test_ids_to_list_may_be_of_any_iterable_and_none_list_no_records(self) -> None:
        page: Json = {"then": {"status": 200, "body": {"entities": [], "total": 0}}}
        clock = SimulatedClock()
        service = self.enterContext(ScriptedService(page, clock))
        client = self.enterContext(Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock))
        for ids in ["S-1"], {"S-1"}, (f"S-{number}" for number in (1,)), "S-1":
            self.assertEqual(list(client.list("suppliers", external_id=ids)), [])
            self.assertRegex(service.asked[-1].path, "externalId=S-1$")
        self.assertEqual(list(client.list("suppliers", external_id=set())), [])
        self.assertEqual(len(service.asked), 4)

    def test_a_time_of_a_query_has_a_time_zone(self) -> None:
        clock = SimulatedClock()
        page: Json = {"then": {"status": 200, "body": {"entities": [], "total": 0}}}
        service = self.enterContext(ScriptedService(page, clock))
        client = self.enterContext(Client(f"http://127.0.0.1:{service.port}", key="k", clock=clock))
        for since, sent in [
            (date(2026, 3, 31), "2026-03-31"),
            (datetime(2026, 3, 31, tzinfo=timezone.utc), "2026-03-31T00%3A00%3A00%2B00%3A00"),
        ]:
            next(client.pages("suppliers", since=since), None)
            self.assertIn(f"&since={sent}", service.asked[-1].path)
        with self.assertRaisesRegex(ValueError, "has no time zone"):
            next(client.pages("suppliers", since=datetime(2026, 3, 31)))
