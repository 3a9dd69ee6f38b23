"""Protocols at the edge: what the gate asks of a clock, a store, keys, secrets and people.

Nothing here knows how any of it is done. A store is held to one contract suite (`tests/contracts/`).
"""

from callgate.ports.edges import Answer, Asker, Clock, Desk, Keys, Labels, Limits, SecretsStore, Source
from callgate.ports.store import Reader, Store, Transaction
from callgate.ports.stored import Checkpoint, Count, Document, Head, Past, Reading

__all__ = [
    "Answer",
    "Asker",
    "Checkpoint",
    "Clock",
    "Count",
    "Desk",
    "Document",
    "Head",
    "Keys",
    "Labels",
    "Limits",
    "Past",
    "Reader",
    "Reading",
    "SecretsStore",
    "Source",
    "Store",
    "Transaction",
]
