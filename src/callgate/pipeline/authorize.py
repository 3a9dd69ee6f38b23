"""Step 3, authorize: scopes, role, layers, allowed callers, the tool's own check, resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.errors import InvalidArguments
from callgate.model.decision import Reason
from callgate.model.levels import Verdict
from callgate.model.shapes import own_copy
from callgate.pipeline.fingerprint import fingerprint
from callgate.pipeline.hooks import hook_limit, only_looking, run_hook
from callgate.pipeline.parts import Asked, Parts, running
from callgate.pipeline.stopped import Stopped, cannot_work, refused
from callgate.policy.answers import NOTHING_TOUCHED, Authorization

if TYPE_CHECKING:
    from callgate.model.tool import Arguments, Tool
    from callgate.model.tool_context import ToolContext
    from callgate.pipeline.validate import Valid
    from callgate.policy.answers import Standing


@dataclass(slots=True)
class Authorized:
    """A call that may be made by this asker; whether now, and whether without asking, the gate says."""

    asked: Asked
    tool: Tool
    arguments: Arguments
    text: bytes
    """The arguments in canonical JSON."""
    standing: Standing
    authorization: Authorization
    fingerprint: str = ""
    """Empty for reads without a key that nobody is ever asked about: those are compared with nothing."""
    has_row: bool = True
    """Whether the ledger may know such a call: everything but a read that nobody can ask for again."""
    repeated: bool | None = None
    """Whether an equal call of this session succeeded lately; None until the ledger was asked."""
    unknown: str = ""
    """The key of an equal call of this session whose outcome is unknown, where this one shall happen all the same."""
    looked_through: object = None
    """What was known of secrets when its names and key were looked through for them."""


async def authorize(parts: Parts, valid: Valid) -> Authorized:
    """Judge who asks for what.

    Raises:
        Stopped: scope_violation, policy_denied.
    """
    asked, tool, arguments = valid.asked, valid.tool, valid.arguments
    parent = running.get()
    if parent is not None:
        _refuse_inside(asked, tool, parent)
    standing = parts.policy.standing(tool, asked.context)
    if standing.refusal is not None:
        raise _denied(asked, tool, standing.refusal, standing.reasons)
    authorization = NOTHING_TOUCHED
    if not standing.touches_nothing:
        touched = await what_is_touched(parts, valid, standing)
        authorization = parts.policy.authorize(tool, arguments, asked.context, standing, touched)
        if authorization.refusal is not None:
            raise _denied(asked, tool, authorization.refusal, authorization.reasons)
    if tool.hooks.check is not None:
        await _own_check(parts, asked, tool, arguments)
    if standing.always_allowed and tool.read_only and asked.key is None and not asked.judged:
        return Authorized(asked, tool, arguments, valid.text, standing, authorization, has_row=False)
    known = fingerprint(parts, tool, valid.text, resources=authorization.resources, user=asked.context.user)
    has_row = asked.key is not None or not tool.read_only or asked.judged
    return Authorized(asked, tool, arguments, valid.text, standing, authorization, known, has_row)


async def what_is_touched(parts: Parts, valid: Valid, standing: Standing) -> Authorization:
    """Judge what the arguments name; where that may take long, beside the event loop."""
    context = valid.asked.context
    sought = parts.policy.sought(valid.arguments, context=context, standing=standing)
    if not sought.takes_long:
        return sought.judge()
    try:
        return await run_hook(parts, valid.tool, sought.judge, seconds=hook_limit(context))
    except OSError as error:
        text = f"what {valid.tool.name} would touch could not be looked at ({error}); name less, or ask again"
        reason = Reason("resources", text, Verdict.DENY, "policy_denied")
        return Authorization(refusal=reason, reasons=(reason,))


def _refuse_inside(asked: Asked, tool: Tool, parent: ToolContext) -> None:
    """What a running handler may not start.

    Raises:
        Stopped: policy_denied.
    """
    if parent.closed:
        raise refused(asked, "policy_denied", f"the call of {parent.tool} it belongs to has ended", tool=tool)
    if parent.only_reads and not tool.plain_read:
        message = f"a preview or a check of {parent.tool}, or of what calls it, may only read, without egress"
        raise refused(asked, "policy_denied", message, tool=tool)
    if parent.reaches is not None and tool.name not in parent.reaches:
        listed = ", ".join(sorted(parent.reaches)) or "none"
        message = (
            f"what runs inside {parent.tool} reaches only the tools that were declared ({listed}), not {tool.name}"
        )
        raise refused(asked, "policy_denied", message, tool=tool)


async def _own_check(parts: Parts, asked: Asked, tool: Tool, arguments: Arguments) -> None:
    check = tool.hooks.check
    assert check is not None  # noqa: S101 - asked by the caller
    seconds = hook_limit(asked.context)
    try:
        with only_looking(parts, asked, tool):
            answer = await run_hook(parts, tool, check, own_copy(arguments), asked.context, seconds=seconds)
    except InvalidArguments as error:
        raise cannot_work(asked, tool, error) from None
    except PermissionError as error:
        reason = Reason("check", f"{tool.name} refuses: {error}", Verdict.DENY, "policy_denied")
        raise _denied(asked, tool, reason, (reason,)) from None
    except Exception as error:  # noqa: BLE001 - a check that breaks has not said yes
        text = f"the check of {tool.name} failed ({type(error).__name__}), which counts as no"
        reason = Reason("check", text, Verdict.DENY, "policy_denied")
        raise _denied(asked, tool, reason, (reason,)) from None
    no = _said_no(tool, answer)
    if no is not None:
        reason = Reason("check", no, Verdict.DENY, "policy_denied")
        raise _denied(asked, tool, reason, (reason,))


def _said_no(tool: Tool, answer: Any) -> str | None:
    """The no in a check's answer. Nothing and what is true are a yes; text says why not."""
    if answer is None or answer is True:
        return None
    if isinstance(answer, str) and answer:
        return f"{tool.name} refuses: {answer}"
    try:
        return None if answer else f"{tool.name} refuses this call"
    except Exception as error:  # noqa: BLE001 - an answer that cannot be read is no yes
        return f"the check of {tool.name} gave an answer that cannot be read ({type(error).__name__})"


def _denied(asked: Asked, tool: Tool, refusal: Reason, reasons: tuple[Reason, ...]) -> Stopped:
    return refused(asked, refusal.code or "policy_denied", refusal.text, tool=tool, reasons=reasons or (refusal,))
