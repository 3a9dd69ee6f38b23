"""The register: which credentials there are. Each is one document, found by the id that its token names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.credentials.form import bind, from_document, to_document
from callgate.credentials.tokens import credential_id, new_token, token_fits
from callgate.errors import ConfigurationError, CredentialNotFound
from callgate.model.credential import Credential, CredentialKind
from callgate.model.person import same_person

if TYPE_CHECKING:
    from callgate.ports import Keys, Reader, Transaction

AREA = "callgate.credentials"
_SEEN_AT_MOST = 1024


class Seen:
    """Credentials as they were proven last: a document that is still the same need not be proven again."""

    def __init__(self) -> None:
        self._proven: dict[str, tuple[dict[str, Any], Credential]] = {}

    def read(self, which: str, body: dict[str, Any], *, keys: Keys) -> Credential | None:
        """As `from_document`."""
        before = self._proven.get(which)
        if before is not None and before[0] == body:
            return before[1]
        found = from_document(body, keys)
        if found is not None:
            if len(self._proven) >= _SEEN_AT_MOST:
                self._proven.clear()
            self._proven[which] = (body, found)
        return found


def issue(tx: Transaction, wanted: Credential, *, keys: Keys) -> tuple[Credential, str]:
    """Keep a credential, and make the token that is shown for it, once.

    Raises:
        ConfigurationError: The name is an agent's already and this is a person's, or the other way round.
    """
    _refuse_both(credentials(tx, keys=keys), wanted)
    token = new_token(wanted.kind, wanted.id)
    made = bind(replace(wanted, digest=keys.token_digest(token.encode())), keys)
    tx.put_document(AREA, made.id, to_document(made))
    return made, token


def change(tx: Transaction, which: str, *, keys: Keys, **changes: Any) -> Credential:
    """Keep a credential with these fields changed.

    Raises:
        CredentialNotFound: There is none of that id.
    """
    changed = bind(replace(needed(tx, which, keys=keys), **changes), keys)
    tx.put_document(AREA, changed.id, to_document(changed))
    return changed


def needed(reader: Reader, which: str, *, keys: Keys) -> Credential:
    """The credential of that id.

    Raises:
        CredentialNotFound: There is none, or it was forged.
    """
    found = credential(reader, which, keys=keys)
    if found is None:
        raise CredentialNotFound(f"Unknown credential: {which}")
    return found


def credential(reader: Reader, which: str, *, keys: Keys, seen: Seen | None = None) -> Credential | None:
    """The credential of that id; None if there is none, or it was forged."""
    body = reader.document(AREA, which)
    if body is None:
        return None
    found = from_document(body, keys) if seen is None else seen.read(which, body, keys=keys)
    return found if found is not None and found.id == which else None


def credentials(reader: Reader, *, keys: Keys) -> list[Credential]:
    """All of them, oldest first, ended ones too; forged ones are none."""
    found = (credential(reader, document.key, keys=keys) for document in reader.documents(AREA))
    return [each for each in found if each is not None]


def shown(reader: Reader, token: str, *, keys: Keys, seen: Seen) -> Credential | None:
    """Whose token this is, whether or not it still counts; None if it is nobody's."""
    which = credential_id(token)
    found = None if which is None else credential(reader, which, keys=keys, seen=seen)
    return found if found is not None and token_fits(token, found.digest, keys=keys) else None


def _refuse_both(known: list[Credential], wanted: Credential) -> None:
    """One name is not an agent here and a person there: it would decide about its own calls."""
    for each in known:
        if each.revoked_at is None and each.kind is not wanted.kind and same_person(each.name, wanted.name):
            other = "an agent" if each.kind is CredentialKind.AGENT else "a person"
            raise ConfigurationError(f"{wanted.name} is the name of {other} here; nobody is both, so choose another")
