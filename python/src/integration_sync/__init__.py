"""A client of the Integration Sync Service, on the standard library alone."""

from .client import Client
from .errors import ProblemEntry, RequestFailed, Unreachable
from .listing import Page, PollPage
from .pushing import Kind, PushOutcome
from .rows import Item, Items
from .types import (
    Event,
    Expectations,
    FeedEvent,
    ItemDetails,
    ListedBatch,
    ListedProduct,
    ListedSupplier,
    SetExpectations,
    SyncRun,
    SyncRunInFull,
)
from .verifying import TestDelivery, WebhookRefusal, WebhookRefused, key_of, verify_webhook

__all__ = [
    "Client",
    "Event",
    "Expectations",
    "FeedEvent",
    "Item",
    "ItemDetails",
    "Items",
    "Kind",
    "ListedBatch",
    "ListedProduct",
    "ListedSupplier",
    "Page",
    "PollPage",
    "ProblemEntry",
    "PushOutcome",
    "RequestFailed",
    "SetExpectations",
    "SyncRun",
    "SyncRunInFull",
    "TestDelivery",
    "Unreachable",
    "WebhookRefusal",
    "WebhookRefused",
    "key_of",
    "verify_webhook",
]
