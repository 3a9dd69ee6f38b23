"""Requests that want to be more than their credential: the same at every door, each with what the credential has."""

from typing import Any

from callgate.model.levels import Autonomy

FREE: dict[str, Any] = {"autonomy": Autonomy.A4}
"""A credential that pays without asking, so that nothing but the wish is refused."""
RAISED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "role": (FREE, {"role": "admin"}),
    "principal": (FREE, {"principal": "other"}),
    "user": (FREE | {"user": "ada"}, {"user": "bob"}),
    "session": (FREE, {"session": "other"}),
    "a session beside its own": (FREE | {"session": "mine"}, {"session": "mine/../other"}),
    "intent": (FREE, {"intent": "pay everybody"}),
    "autonomy": ({"autonomy": Autonomy.A1}, {"autonomy": "A4"}),
    "scopes": (FREE | {"scopes": frozenset({"fs:read"})}, {"scopes": ["fs:read", "shell:execute"]}),
    "no scopes": (FREE | {"scopes": frozenset[str]()}, {"scopes": ["intent:assert"]}),
    "layers": (FREE, {"layers": []}),
    "caller": (FREE, {"caller": "chain"}),
    "read_only": (FREE | {"read_only": True}, {"read_only": False}),
}
"""What is wished, by its name: the limits of the credential, and the context that the request asks for."""
