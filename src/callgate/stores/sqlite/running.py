"""How the units of a batch run inside one open transaction: together, or one by one when one of them is unfit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from callgate.errors import StoreUnavailable
from callgate.events.recordable import unrecordable
from callgate.model.event import Draft
from callgate.stores.sqlite.batch import Batch, Unit
from callgate.stores.sqlite.connection import is_ours
from callgate.stores.sqlite.transaction import SqliteTransaction

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Tangled(Exception):
    """A unit failed after some of it, or of others, reached the database: roll back and run carefully."""


def run_swiftly(transaction: SqliteTransaction, batch: Batch) -> None:
    """All units one after the other, their writes together at the end. One that fails before that is just dropped."""
    results = batch.results = []
    for item in batch.items:
        if isinstance(item, Draft):
            transaction.drafts.append(item)
            continue
        unit, future = item
        transaction.begin_unit()
        try:
            results.append((future, unit(transaction), None))
        except BaseException as error:
            if not is_ours(error):
                raise
            if not _tangling(transaction.drop_unit):
                raise Tangled from error
            results.append((future, None, error))
    _tangling(transaction.flush)


def _tangling(step: Callable[[], T]) -> T:
    """A step in which any unit's waiting writes may turn out to be unfit; whose, only a careful run can tell."""
    try:
        return step()
    except BaseException as error:
        if not is_ours(error):
            raise
        raise Tangled from error


def run_carefully(transaction: SqliteTransaction, batch: Batch) -> None:
    """Each unit by itself, so that one whose writes cannot be kept takes back its own and no others'."""
    batch.results = []
    for item in batch.items:
        if isinstance(item, Draft):
            _write_alone(transaction, item)
        else:
            batch.results.append((item[1], *_run_alone(transaction, item[0])))


def _write_alone(transaction: SqliteTransaction, draft: Draft) -> None:
    """An event written behind, about which nobody can be told: kept without what makes it unfit, if it must be."""
    _, failure = _run_alone(transaction, lambda tx: tx.append(draft))
    if failure is not None:
        bare = replace(draft, payload=unrecordable(str(failure)), redact=None)
        _, failure = _run_alone(transaction, lambda tx: tx.append(bare))
    if failure is not None:
        _log.error("an event of type %.100s cannot be written and is lost: %s", draft.type, failure)


def _run_alone(transaction: SqliteTransaction, unit: Unit) -> tuple[Any, BaseException | None]:
    tip, events = transaction.tip, len(transaction.rows)
    transaction.db.execute("SAVEPOINT unit")
    transaction.begin_unit()
    value, failure, flushing = None, None, False
    try:
        value = unit(transaction)
        flushing = True
        transaction.flush()
    except BaseException as error:
        if not is_ours(error):
            raise
        failure = _unfit(error) if flushing else error
        transaction.db.execute("ROLLBACK TO unit")
        transaction.rewind(tip, events)
    transaction.db.execute("RELEASE unit")
    return value, failure


def _unfit(error: BaseException) -> StoreUnavailable:
    """What the caller is told. The words of an encoding error would show what was to be stored."""
    failure = StoreUnavailable(f"the store cannot hold what was to be written: {type(error).__name__}")
    failure.__cause__ = error
    return failure
