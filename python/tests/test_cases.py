"""The cases that the clients of all languages pass, by the client of Python, over HTTP."""

from __future__ import annotations

import json
import os
import re
import unittest
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import integration_sync
from integration_sync import Client, PushOutcome, WebhookRefused, verify_webhook

from cases import Asked, Json, ScriptedService, SimulatedClock, items_of, read_body

FILE = Path(__file__).parents[2] / "test/cases/client.json"
CASES: Json = json.loads(Path(os.environ.get("CASES", FILE)).read_text(encoding="utf-8"))


def in_snake(options: Json) -> Json:
    """The options of a call by their names in Python."""
    name_of = {"autoCreateDDS": "auto_create_dds"}
    return {name_of.get(k) or re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", k): v for k, v in options.items()}


def open_client(case: Json, service: ScriptedService, clock: SimulatedClock) -> Client:
    given = dict(case.get("client", {}))
    url = f"http://127.0.0.1:{service.port}{given.pop('path', '/')}"
    tokens = given.pop("tokens", None)
    if tokens:
        given["token"] = lambda: tokens[min(service.unauthorized, len(tokens) - 1)]
    elif "clientId" not in given:
        given["key"] = "isk_key"
    return Client(url, clock=clock, **in_snake(given))


def make(client: Client, call: Json) -> Any:
    options = in_snake(call.get("options", {}))
    if "push" in call:
        return client.push(call["push"], items_of(call["items"]), **options)
    if "plan" in call:
        return client.plan(call["plan"], items_of(call["items"]), **options)
    if "list" in call:
        return list(client.list(call["list"], **options))
    if "poll" in call:
        return list(islice(client.poll(call["poll"], **options), call.get("pages")))
    if "events" in call:
        return list(islice(client.events(**in_snake(call["events"])), call.get("pages")))
    if "runs" in call:
        return list(client.runs(**in_snake(call["runs"])))
    if "run" in call:
        return client.run(call["run"])
    if "expect" in call:
        return client.set_expectations(call["expect"]) if call["expect"] else client.expectations()
    return client.archive(call["archive"], (f"S-{index}" for index in range(call["count"])))


def plain(outcome: Any) -> Any:
    """An outcome by the names of the interface."""
    if isinstance(outcome, list):
        return [plain(one) for one in outcome]
    if not hasattr(outcome, "__dict__"):
        return outcome
    name_of = {"dds_created": "ddsCreated", "sync_ids": "syncIds", "request_id": "requestId"}
    return {name_of.get(name, name): plain(value) for name, value in vars(outcome).items()}


class Cases(unittest.TestCase):
    maxDiff = 2_000

    def matches(self, got: Any, expected: Any) -> None:
        """Whether it has what is expected; objects may have more."""
        if isinstance(expected, dict):
            for name, value in expected.items():
                self.matches(got[name], value)
        elif isinstance(expected, list):
            self.assertEqual(len(got), len(expected))
            for one, value in zip(got, expected):
                self.matches(one, value)
        else:
            self.assertEqual(got, expected)

    def run_case(self, case: Json) -> None:
        clock = SimulatedClock()
        with ScriptedService(case.get("service", {}), clock) as service, open_client(case, service, clock) as client:
            for call in case["calls"]:
                before, begun_at = len(service.asked), clock.now()
                for _ in range(call.get("times", 1)):
                    outcome = self.outcome_of(client, call)
                if "fails" not in call:
                    self.check_outcome(call, outcome)
                self.check_requests(call, service.asked[before:])
                least, most = call.get("seconds", [0, 10**9])
                self.assertTrue(least <= clock.now() - begun_at <= most, clock.now() - begun_at)
                self.assertLessEqual(service.refused, call.get("refusedMax", 10**9))

    def outcome_of(self, client: Client, call: Json) -> Any:
        if "fails" not in call:
            return make(client, call)
        expected = dict(call["fails"])
        with self.assertRaises(getattr(integration_sync, expected.pop("error"))) as raised:
            make(client, call)
        self.assertIn(expected.pop("message", ""), str(raised.exception))
        self.matches(plain(raised.exception), expected)
        return None

    def check_outcome(self, call: Json, outcome: Any) -> None:
        self.matches(plain(outcome), call.get("outcome", {}))
        if not call.get("isWhole"):
            return
        assert isinstance(outcome, PushOutcome)
        ids = [item["externalId"] for item in items_of(call["items"])]
        self.assertEqual([record["externalId"] for record in outcome.records], ids)
        self.assertEqual([detail["index"] for detail in outcome.details], list(range(len(ids))))
        for detail in outcome.details:
            for problem in detail["problems"]:
                self.assertRegex(problem["pointer"], rf"^/suppliers/{detail['index']}(/name)?$")
        self.matches(outcome.details[-1], call.get("lastDetail", {}))

    def check_requests(self, call: Json, asked: list[Asked]) -> None:
        for expected, one in zip(call.get("requests", []), asked):
            for name in ("method", "path"):
                self.assertEqual(getattr(one, name), expected.get(name, getattr(one, name)))
            for name, value in expected.get("headers", {}).items():
                self.assertEqual(one.headers.get(name), value)
            if "body" in expected:
                self.assertEqual(json.loads(one.body), expected["body"])
            self.assertEqual(one.body, expected.get("form", one.body))
        if "sizes" in call:
            self.assertEqual([len(read_body(one.body)[0]) for one in asked], call["sizes"])
        if "besides" in call:
            self.assertEqual([read_body(one.body)[1] for one in asked], [call["besides"]] * len(asked))
        if "authorizations" in call:
            self.assertEqual([one.headers.get("authorization") for one in asked], call["authorizations"])
        for one in asked:
            self.assertLessEqual(len(one.body.encode()), call.get("bodyBytesMax", 10**9))
        self.assertGreaterEqual(len(asked), call.get("requestsMin", len(call.get("requests", []))))
        self.assertLessEqual(len(asked), call.get("requestsMax", 10**9))
        for (least, most), first, second in zip(call.get("waits", []), asked, asked[1:], strict=False):
            self.assertTrue(least <= second.at - first.at <= most, second.at - first.at)
        self.assertGreater(len(asked), len(call.get("waits", [])) - 1)

    def run_delivery(self, delivery: Json) -> None:
        # Frameworks show the names of headers in other cases than they were sent.
        headers = {name.title(): value for name, value in delivery["headers"].items()}
        given = (delivery["secret"], headers, delivery["body"].encode())
        with mock.patch("time.time", return_value=delivery["at"]):
            if delivery.get("isWrongSecret"):
                with self.assertRaisesRegex(ValueError, "^expected whsec_"):
                    verify_webhook(*given)
            elif "refused" in delivery:
                with self.assertRaises(WebhookRefused) as refused:
                    verify_webhook(*given)
                self.assertEqual(refused.exception.reason, delivery["refused"])
            else:
                self.matches(verify_webhook(*given), delivery["event"])


def add_tests(run: Any, cases: list[Json]) -> None:
    """A test for each case, under its title."""
    for case in cases:
        setattr(Cases, f"test_{case['title']}", lambda self, case=case: run(self, case))


add_tests(Cases.run_case, CASES["calls"])
add_tests(Cases.run_delivery, CASES["deliveries"])

if __name__ == "__main__":
    unittest.main()
