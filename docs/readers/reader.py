"""Reads the events of one integration from JetStream, each once, and asks for the record of each created supplier.

  pip install nats-py
  NATS_URL=nats://127.0.0.1:4222 INTEGRATION=acme NAME=my-service python3 reader.py

SINCE=2026-03-31T21:00:00Z begins there, where the consumer is made; without it at the oldest event.
"""

import asyncio
import datetime
import json
import os
import pathlib
import urllib.parse

import nats
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.errors import NotFoundError

INTEGRATION = os.environ.get("INTEGRATION", "acme")
NAME = os.environ.get("NAME", "my-service")
SINCE = os.environ.get("SINCE")


async def open_consumer(stream):
    # Where NATS has users an operator makes the consumer: ops reader NAME --integration INTEGRATION --from-start --apply
    try:
        await stream.consumer_info("EVENTS", NAME)
    except NotFoundError:
        begin = {"deliver_policy": DeliverPolicy.ALL}
        if SINCE is not None:
            begin_at = datetime.datetime.fromisoformat(SINCE)
            begin = {"deliver_policy": DeliverPolicy.BY_START_TIME, "opt_start_time": begin_at}
        config = ConsumerConfig(
            durable_name=NAME,
            filter_subject=f"events.{INTEGRATION}.>",
            ack_policy=AckPolicy.EXPLICIT,
            inactive_threshold=8 * 24 * 3600,
            **begin,
        )
        await stream.add_consumer("EVENTS", config)
    return await stream.pull_subscribe_bind(NAME, "EVENTS")


async def show_record(client, external_id):
    query = urllib.parse.urlencode({"externalId": external_id, "details": "true"})
    subject = f"svc.catalog.suppliers.list.{INTEGRATION}"
    reply = await client.request(subject, b"", timeout=5, headers={"query": query})
    failure = (reply.headers or {}).get("Nats-Service-Error")
    if failure:
        raise RuntimeError(failure)
    entities = json.loads(reply.data)["entities"]
    print("record", external_id, entities[0]["name"] if entities else None, flush=True)


async def main():
    servers = os.environ.get("NATS_URL", "nats://127.0.0.1:4222")
    prefix = f"_INBOX_{NAME}".encode()
    client = await nats.connect(servers, inbox_prefix=prefix, max_reconnect_attempts=-1)
    consumer = await open_consumer(client.jetstream())
    # An event may come twice. A service with a database keeps the id in the transaction that deals with the event.
    path = pathlib.Path(os.environ.get("SEEN", f"{NAME}.seen"))
    seen = set(path.read_text().split("\n")) if path.exists() else set()
    while True:
        try:
            messages = await consumer.fetch(100, timeout=5)
        except asyncio.TimeoutError:
            continue
        for message in messages:
            headers = message.headers or {}
            event_id = headers.get("Nats-Msg-Id", "")
            version = headers.get("Event-Version", "1")
            if version != "1":
                raise RuntimeError(f"{event_id} has version {version}, which this reader does not know")
            if event_id not in seen:
                event = json.loads(message.data)
                print(event_id, event["event"], json.dumps(event["data"]), flush=True)
                if event["event"] == "supplier.created":
                    await show_record(client, event["data"]["externalId"])
                seen.add(event_id)
                with path.open("a") as file:
                    file.write(f"{event_id}\n")
            await message.ack()  # until then JetStream delivers it again


asyncio.run(main())
