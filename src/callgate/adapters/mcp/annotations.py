"""What a server claims about a tool counts where it makes the gate stricter, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callgate.model.levels import Effect

if TYPE_CHECKING:
    from mcp_types import ToolAnnotations


def tighten(declared: Mapping[str, Any], claims: ToolAnnotations | None) -> tuple[dict[str, Any], list[str]]:
    """The operator's declaration with what the server admits, and in words what that changed.

    A hint that is left out says nothing, whatever the protocol gives as its default.
    """
    fields = dict(declared)
    if claims is None:
        return fields, []
    changed: list[str] = []
    if _changes_something(claims) and Effect.READ_ONLY in fields.get("effects", ()):
        fields["effects"] = [effect for effect in fields["effects"] if effect != Effect.READ_ONLY]
        changed.append("it is declared read_only, and the server says that it changes something")
    if _destroys(claims) and fields.get("destructive") is not True:
        changed += ["it is declared not destructive, and the server says that it is"] * ("destructive" in fields)
        fields["destructive"] = True
    if claims.idempotent_hint is False and fields.get("idempotent"):
        fields["idempotent"] = False
        changed.append("it is declared idempotent, and the server says that it is not")
    if claims.open_world_hint:
        fields |= {"egress": True, "untrusted_output": True}
    return fields, changed


def _changes_something(claims: ToolAnnotations) -> bool:
    return claims.read_only_hint is False or _destroys(claims)


def _destroys(claims: ToolAnnotations) -> bool:
    """The hint means nothing beside a claim to be read-only, which is only a claim."""
    return claims.destructive_hint is True and claims.read_only_hint is not True
