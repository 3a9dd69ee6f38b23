"""The recorded view of a value: JSON whatever it was, bounded in size, safe from later changes; and of who asks."""

from __future__ import annotations

import hashlib
import marshal
import math
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import orjson

from callgate.events.recordable import is_short, read_back, recordable_bytes, too_long
from callgate.model.canonical import SORTED, NotCanonical, dumps, quick
from callgate.model.shapes import as_mapping, as_sequence, copy_of

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Parts

MOST_BYTES = 65_536
"""Beyond this, events keep the beginning and a digest; the ledger keeps the whole."""
_SCALARS = (str, int, bool, type(None))
WRITTEN_ALIKE = frozenset({str, int, float, bool, type(None)})
"""What has one way to be written."""
_DEPTH = 60


def json_bytes(value: Any) -> bytes:
    """The JSON, written, that stands for `value`: nothing can change it afterwards."""
    try:
        text = quick(value)
        if text is None:
            dumps(value)
            text = recordable_bytes(value)
    except NotCanonical:
        return dumps(_stand_in(value, _DEPTH))
    return text


def written_state(state: Any) -> str:
    """The state of a preview as it is compared: a version may be a number as well as an ETag."""
    return state if isinstance(state, str) else json_bytes(state).decode()


def struck_output(parts: Parts, value: Any) -> tuple[Any, bytes]:
    """An output without secrets, and its JSON: what is handed out and what is recorded had the same look."""
    form: Any = None
    try:
        text = quick(value)
    except NotCanonical:
        text = None
    if text is None:
        # It is struck by its own words first, because whoever prints it sees those and not its JSON.
        value = parts.striker.strike(value)
        text = json_bytes(value)
    elif _is_plain(value):
        form = value
    else:
        plain, form = _reread(text, value)
        if plain is not text:
            value, text = form, plain
    if parts.striker.suspects(text):
        form = read_back(text) if form is None else form
        struck_form = parts.striker.strike(form, suspected=True)
        if struck_form is not form:
            return struck_form, json_bytes(struck_form)
    return value, text


def _is_plain(value: Any) -> bool:
    """Whether a value that has JSON is made of Python's own types alone: what was written of it is then canonical."""
    if type(value) in WRITTEN_ALIKE:
        return True
    try:
        marshal.dumps(value)  # it takes nothing else, not even of a class that is derived from one of them
    except ValueError:
        return False
    return True


def _reread(text: bytes, value: Any) -> tuple[bytes, Any]:
    """The text, made canonical JSON, and read: ready-made pieces in a value were written as they are."""
    try:
        form = orjson.loads(text)
        if orjson.dumps(form, option=SORTED) == text:
            return text, form
        plain = recordable_bytes(read_back(text))
    except ValueError:
        plain = dumps(_stand_in(value, _DEPTH))
    return plain, read_back(plain)


def json_form(value: Any) -> Any:
    """A JSON value that stands for `value` and shares nothing with it that can change."""
    if isinstance(value, _SCALARS) and _canonical(value):
        return value
    return read_back(json_bytes(value))


def view(value: Any) -> Any:
    """What an event keeps of an output: its JSON, cut when it is large."""
    return cut(json_bytes(value))


def cut(text: bytes) -> Any:
    """What an event keeps of JSON: all of it, or its beginning and a digest when it is large."""
    if len(text) <= MOST_BYTES:
        return orjson.Fragment(text)
    shown = text[: MOST_BYTES // 16].decode(errors="replace")
    return {"cut": True, "bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "begins": shown}


def redacted_view(tool: Tool, output: Any, written: bytes | None = None) -> Any:
    """`view` of what the tool itself lets be recorded of its output; `written` is the output's JSON, if it is known."""
    redact = tool.hooks.redact
    if redact is None:
        return cut(json_bytes(output) if written is None else written)
    try:
        return view(redact(copy_of(output)))
    except BaseException as error:  # noqa: BLE001 - a redactor that fails must not let the output through
        return f"<redact failed: {type(error).__name__}>"


def struck(parts: Parts, arguments: bytes) -> Any:
    """Arguments in canonical JSON as an event keeps them: cut when they are large, and struck before that.

    Half a secret is not recognised; whole ones are struck with the rest of the event.
    """
    if len(arguments) > MOST_BYTES and parts.striker.suspects(arguments):
        return view(parts.striker.strike(read_back(arguments)))
    return cut(arguments)


def _canonical(value: Any) -> bool:
    if not isinstance(value, str):
        return not isinstance(value, int) or is_short(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stand_in(value: Any, depth: int) -> Any:
    if depth == 0:
        return "<nested too deeply>"
    if isinstance(value, _SCALARS):
        return value if _canonical(value) else too_long(value) if isinstance(value, int) else _escaped(str(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray):
        return {"bytes": len(value), "sha256": hashlib.sha256(bytes(value)).hexdigest()}
    return _stand_in_container(value, depth - 1)


def _stand_in_container(value: Any, depth: int) -> Any:
    mapping, items = as_mapping(value), as_sequence(value)
    if mapping is not None:
        return {_escaped(str(name)): _stand_in(item, depth) for name, item in mapping.items()}
    if items is not None:
        return [_stand_in(item, depth) for item in items]
    dump = getattr(value, "model_dump", None)
    try:
        if callable(dump):
            return _stand_in(dump(mode="json"), depth)
        if is_dataclass(value) and not isinstance(value, type):
            return _stand_in(asdict(value), depth)
        return str(value)
    except Exception:  # noqa: BLE001 - a value that cannot even be shown must not break the record
        return f"<{type(value).__name__}>"


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def who(context: Context) -> dict[str, Any]:
    """Who asks, as every event of a call says it; what is not set is left out."""
    body: dict[str, Any] = {
        "role": context.role,
        "principal": context.principal,
        "session": context.session,
        "caller": context.caller._value_,
    }
    if context.user is not None:
        body["user"] = context.user
    if context.chain_id is not None:
        body |= {"chain_id": context.chain_id, "chain_index": context.chain_index}
    return body
