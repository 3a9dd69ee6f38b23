"""Visits: people signed in at the console, and links that let them in once. Of cookies and codes digests are kept."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from callgate.credentials.register import credential
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.credential import Visit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from callgate.model.credential import Credential
    from callgate.ports import Keys, Reader, Transaction

_VISITS = "callgate.visits"
_LINKS = "callgate.links"
_AREAS = (_VISITS, _LINKS)
_BYTES = 32
_LONGEST = 200
"""Of a cookie or a code that is looked for at all."""


class _Place(NamedTuple):
    """Where something is kept that was shown once: under a digest of it."""

    area: str
    digest: str


def new_link(tx: Transaction, holder: Credential, *, keys: Keys, now: float, until: float) -> str:
    """A code that lets this person in once, before that time. Links that are over are forgotten on the way."""
    _forget(tx, _LINKS, keys=keys, now=now)
    code = secrets.token_urlsafe(_BYTES)
    _keep(tx, _place(_LINKS, code, keys=keys), holder=holder, keys=keys, until=until)
    return code


def is_link(reader: Reader, code: str, *, keys: Keys, now: float) -> bool:
    """Whether this code would let somebody in now."""
    return _holder(reader, _place(_LINKS, code, keys=keys), keys=keys, now=now) is not None


def use_link(tx: Transaction, code: str, *, keys: Keys, now: float) -> Credential | None:
    """Whom this code lets in. It does so once: whoever comes second is not let in."""
    place = _place(_LINKS, code, keys=keys)
    holder = _holder(tx, place, keys=keys, now=now)
    tx.drop_document(*place)
    return holder


def new_visit(tx: Transaction, holder: Credential, *, keys: Keys, now: float, until: float) -> str:
    """The cookie of a new visit. Visits that are over are forgotten on the way."""
    _forget(tx, _VISITS, keys=keys, now=now)
    cookie = secrets.token_urlsafe(_BYTES)
    _keep(tx, _place(_VISITS, cookie, keys=keys), holder=holder, keys=keys, until=until)
    return cookie


def visit(reader: Reader, cookie: str, *, keys: Keys, now: float) -> Visit | None:
    """The visit that this cookie is of; None if it is over, or its person is not let in any more."""
    place = _place(_VISITS, cookie, keys=keys)
    holder = _holder(reader, place, keys=keys, now=now)
    if holder is None:
        return None
    until = (reader.document(*place) or {})["until"]
    stamp = keys.token_digest(b"stamp\0" + cookie.encode())
    return Visit(id=place.digest, credential=holder, expires_at=until, stamp=stamp)


def end_visit(tx: Transaction, cookie: str, *, keys: Keys) -> bool:
    """Forget a visit; whether there was one."""
    return tx.drop_document(*_place(_VISITS, cookie, keys=keys))


def end_visits(tx: Transaction, holder: Credential) -> int:
    """Forget every visit of a person, and the links that would begin another; how many visits there were."""
    found = {
        area: [each.key for each in tx.documents(area) if each.body.get("credential") == holder.id] for area in _AREAS
    }
    for area, keys in found.items():
        for key in keys:
            tx.drop_document(area, key)
    return len(found[_VISITS])


def _place(area: str, shown: str, *, keys: Keys) -> _Place:
    return _Place(area, keys.token_digest(area.encode() + b"\0" + shown[:_LONGEST].encode("utf-8", "replace")))


def _keep(tx: Transaction, place: _Place, *, holder: Credential, keys: Keys, until: float) -> None:
    body: dict[str, Any] = {"credential": holder.id, "until": float(until)}
    tx.put_document(*place, body | {"mac": _mac(place, body, keys=keys)})


def _forget(tx: Transaction, area: str, *, keys: Keys, now: float) -> None:
    """Let go of what is over, and is ours: of what others wrote there nothing is believed, not even its end."""
    for document in tx.documents(area):
        body = _sealed(_Place(area, document.key), document.body, keys=keys)
        if body is not None and body["until"] <= now:
            tx.drop_document(area, document.key)


def _holder(reader: Reader, place: _Place, *, keys: Keys, now: float) -> Credential | None:
    body = _sealed(place, reader.document(*place) or {}, keys=keys)
    if body is None or body["until"] <= now:
        return None
    found = credential(reader, body["credential"], keys=keys)
    return found if found is not None and found.counts(now) else None


def _sealed(place: _Place, document: Mapping[str, Any], *, keys: Keys) -> dict[str, Any] | None:
    """What is kept there, if we wrote it: whoever writes into the store without the key begins a visit for nobody."""
    body = dict(document)
    mac = str(body.pop("mac", ""))
    try:
        own = _mac(place, body, keys=keys)
    except NotCanonical:
        return None
    return body if secrets.compare_digest(mac.encode("utf-8", "replace"), own.encode()) else None


def _mac(place: _Place, body: dict[str, Any], *, keys: Keys) -> str:
    return keys.mac(b"\0".join((place.area.encode(), place.digest.encode(), dumps(body))))
