"""The client against the whole service, whose address and tokens the environment has."""

from __future__ import annotations

import json
import os
import threading
import time
import unittest
import urllib.request
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, TypeVar

from integration_sync import Client, RequestFailed, verify_webhook

URL = os.environ["GATEWAY"]
TOKENS: dict[str, str] = json.loads(os.environ["TOKENS"])

Value = TypeVar("Value")


def eventually(read: Callable[[], Value], is_true: Callable[[Value], bool]) -> Value:
    until = time.monotonic() + 60
    while not is_true(value := read()):
        assert time.monotonic() < until, value
        time.sleep(0.05)
    return value


def suppliers(count: int) -> Iterator[dict[str, object]]:
    return ({"externalId": f"S-{index}", "name": f"Supplier {index}"} for index in range(count))


class Service(unittest.TestCase):
    def open(self, integration: str, **options: Any) -> Client:
        return self.enterContext(Client(URL, token=TOKENS[integration], **options))

    def test_pushes_plans_and_lists_more_than_one_request_holds(self) -> None:
        acme = self.open("py-push")
        planned = acme.plan("suppliers", suppliers(1_100))
        self.assertEqual((planned.success, planned.created, planned.sync_ids), (True, 1_100, []))
        pushed = acme.push("suppliers", suppliers(1_100))
        self.assertEqual((pushed.success, pushed.created, len(pushed.sync_ids)), (True, 1_100, 3))
        self.assertEqual(acme.push("suppliers", suppliers(1_100)).unchanged, 1_100)
        listed = acme.list("suppliers", details=True)
        fields = [{"externalId": one["externalId"], **one["details"]["fields"]} for one in listed]
        self.assertEqual(fields, list(suppliers(1_100)))
        self.assertEqual(len(list(acme.runs(entity_type="supplier"))), 6)
        self.assertEqual(acme.run(pushed.sync_ids[0])["created"], 500)

    def test_a_misspelt_field_is_refused_by_its_place_among_all_items(self) -> None:
        items: list[dict[str, object]] = [*suppliers(550), {"externalId": "S-550", "name": "x", "contry": "SE"}, *suppliers(9)]
        outcome = self.open("py-strict").push("suppliers", items)
        self.assertEqual(outcome.created + outcome.updated, 559)
        [failed] = [one for one in outcome.details if one["action"] == "failed"]
        self.assertEqual((failed["index"], failed["problems"][0]["pointer"]), (550, "/suppliers/550/contry"))
        lenient = self.open("py-strict", strict=False).push("suppliers", items)
        self.assertTrue(lenient.success)
        self.assertEqual(lenient.details[550]["ignored"], ["/suppliers/550/contry"])

    def test_rows_with_two_hundred_columns_are_refused_one_by_one_and_taken_without_strictness(self) -> None:
        wide = {f"column{index}": f"value {index}" for index in range(200)}
        rows = [{**wide, **one} for one in suppliers(1_000)]
        refused = self.open("py-wide").push("suppliers", rows)
        self.assertEqual((refused.created, len(refused.errors)), (0, 1_000))
        self.assertIn("column0", refused.errors[999]["error"])
        self.assertEqual(refused.details[999]["index"], 999)
        self.assertEqual(self.open("py-wide", strict=False).push("suppliers", rows).created, 1_000)

    def test_polls_what_has_changed_since_and_archives(self) -> None:
        acme = self.open("py-poll")
        acme.push("suppliers", suppliers(250))

        def walk(changed_since: str | None = None) -> tuple[list[str], str]:
            pages = list(acme.poll("suppliers", changed_since=changed_since))
            assert pages[-1].next is not None
            return [one["externalId"] for page in pages for one in page.entities], pages[-1].next

        everything, reached = walk()
        self.assertEqual(len(everything), 250)
        acme.push("suppliers", [{"externalId": "S-7", "name": "Seven"}])
        archived = acme.archive("suppliers", iter(["S-9", "S-404"]))
        self.assertEqual((archived["archived"], archived["success"]), (1, False))
        changed = eventually(lambda: walk(reached)[0], lambda ids: {"S-7", "S-9"} <= set(ids))
        self.assertLess(len(changed), 250)
        [record] = acme.list("suppliers", external_id=["S-9"])
        self.assertEqual(record["syncStatus"], "ARCHIVED")

    def test_polls_the_events_from_a_time_and_by_kinds(self) -> None:
        acme = self.open("py-events")
        since = datetime.now(timezone.utc) - timedelta(minutes=1)
        acme.push("suppliers", suppliers(3))
        acme.push("batches", [])
        acme.push("products", [{"externalId": "P-1", "name": "One"}])

        def walk() -> list[str]:
            return [one["event"] for page in acme.events(since=since, limit=2) for one in page.entities]

        kinds = eventually(walk, lambda events: "product.created" in events)
        self.assertEqual(kinds.count("supplier.created"), 3)
        *_, last = acme.events(since=since, events=["product.created"])
        self.assertEqual(list(acme.events(after=last.next, wait_seconds=0))[0].entities, [])

    def test_values_of_python_are_stored_as_what_they_stand_for(self) -> None:
        acme = self.open("py-values")
        acme.push("products", [{"externalId": "P-1", "name": "Oak"}])
        batch = {"externalId": "B-1", "productExternalId": "P-1", "batchNumber": "7"}
        item = {**batch, "quantity": Decimal("1.10"), "receivedDate": date(2026, 3, 31)}
        self.assertTrue(acme.push("batches", [item], auto_create_dds=True).dds_created)
        [stored] = acme.list("batches", details=True)
        fields = stored["details"]["fields"]
        self.assertEqual((fields["quantity"], fields["receivedDate"]), (1.1, "2026-03-31"))

    def test_a_key_or_the_id_and_secret_of_a_client_open_it(self) -> None:
        key = os.environ["KEY"]
        self.enterContext(Client(URL, key=key)).push("suppliers", suppliers(1))
        base = f"{URL}/api/v1/integration/"
        client = self.enterContext(Client(base, client_id="acme", client_secret=key))
        self.assertIn("S-0", [one["externalId"] for one in client.list("suppliers")])
        with self.assertRaises(RequestFailed) as refused:
            next(self.enterContext(Client(URL, client_id="acme", client_secret="isk_wrong")).list("suppliers"))
        self.assertEqual((refused.exception.status, refused.exception.code), (401, "invalid_client"))

    def test_verifies_what_webhooks_deliver(self) -> None:
        received: list[Any] = []
        secret = ""

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                received.append(verify_webhook(secret, self.headers, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with HTTPServer(("127.0.0.1", 0), Receiver) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            webhook = {"url": f"http://127.0.0.1:{server.server_port}/", "events": ["supplier.created"]}
            headers = {"authorization": f"Bearer {TOKENS['py-webhooks']}", "content-type": "application/json"}
            address = f"{URL}/api/v1/integration/webhook-events"
            with urllib.request.urlopen(
                urllib.request.Request(address, json.dumps(webhook).encode(), headers)
            ) as response:
                secret = json.load(response)["secret"]
            self.open("py-webhooks").push("suppliers", suppliers(1))
            [event] = eventually(lambda: received, lambda all: len(all) > 0)
            server.shutdown()
        self.assertEqual((event["event"], event["data"]["externalId"]), ("supplier.created", "S-0"))
