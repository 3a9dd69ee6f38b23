"""Which kind of trouble a call met, told by class, with everything a model can act on."""

import email.message
import sys
import urllib.error
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callgate import Callgate, errors, tool
from callgate.compat import ToolExecutor
from callgate.model.context import Context
from callgate.model.levels import Category
from callgate.model.outcome import ErrorInfo, Outcome, Pending
from callgate.secrets.strike import process_striker
from callgate.testing import memory_gate


class HTTPStatusError(Exception):
    """As HTTP clients call it; this one carries nothing but its class."""


class NotFound(HTTPStatusError):
    """A subclass of a client's own."""


class WithResponse(Exception):
    """Carries a response, as most clients' do."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.response = type("Response", (), {"status_code": status})()


class TransportError(Exception):
    """As an HTTP client calls a lost connection, without deriving from ConnectionError."""


class ConnectTimeout(TransportError, TimeoutError):
    """Both at once."""


class Late(TimeoutError): ...


class Invalid(ValueError): ...


class Locked(PermissionError): ...


def http_error() -> urllib.error.HTTPError:
    return urllib.error.HTTPError("https://example.com", 404, "not found", email.message.Message(), None)


async def trouble(error: BaseException) -> ErrorInfo:
    """What a call says whose handler raises this; its limit leaves no time to try again."""

    @tool(effects="read_only", timeout=0.02)
    async def breaks() -> str:
        """Raise it."""
        raise error

    async with memory_gate(breaks) as gate:
        outcome = await gate.call("breaks")
    assert outcome.status == "failed"
    assert outcome.error is not None
    return outcome.error


@pytest.mark.requirement("ERR-01")
@pytest.mark.parametrize(
    ("make", "category"),
    [
        (lambda: NameError("x"), "configuration_error"),
        (lambda: AttributeError("x"), "configuration_error"),
        (lambda: ImportError("x"), "configuration_error"),
        (lambda: ModuleNotFoundError("x"), "configuration_error"),
        (lambda: TimeoutError("x"), "timeout_error"),
        (lambda: ConnectionError("x"), "network_error"),
        (lambda: ConnectionResetError("x"), "network_error"),
        (lambda: FileNotFoundError("x"), "resource_error"),
        (lambda: OSError("x"), "resource_error"),
        (lambda: ValueError("x"), "user_input_error"),
        (http_error, "api_error"),
        (lambda: HTTPStatusError("x"), "api_error"),
        (lambda: WithResponse("x", 418), "api_error"),
        (lambda: urllib.error.URLError("x"), "network_error"),
        (lambda: TransportError("x"), "network_error"),
        (lambda: PermissionError("x"), "permission_error"),
        (lambda: RuntimeError("x"), "runtime_error"),
        (lambda: ZeroDivisionError("x"), "runtime_error"),
    ],
)
async def test_classes_map_to_categories(make: Callable[[], Exception], category: str):
    assert (await trouble(make())).category.value == category


@pytest.mark.requirement("ERR-03")
@pytest.mark.parametrize(
    ("make", "category"),
    [
        (lambda: KeyError("invalid"), "runtime_error"),
        (lambda: RuntimeError("connection timeout: permission denied, file not found"), "runtime_error"),
        (lambda: HTTPStatusError("404 not found"), "api_error"),
        (lambda: NotFound("timeout"), "api_error"),
        (lambda: WithResponse("connection refused", 503), "api_error"),
        (lambda: Late("invalid"), "timeout_error"),
        (lambda: Invalid("permission denied"), "user_input_error"),
        (lambda: Locked("no such file"), "permission_error"),
    ],
)
async def test_classes_decide_subclasses_included_and_never_words(make: Callable[[], Exception], category: str):
    assert (await trouble(make())).category.value == category


class Unspeakable(ValueError):
    """Cannot be shown, nor looked at."""

    def __str__(self) -> str:
        raise RuntimeError

    @property
    def response(self) -> Any:
        raise RuntimeError


async def test_an_exception_that_cannot_be_shown_is_a_failure_like_any_other():
    error = await trouble(Unspeakable())
    assert error.category.value == "user_input_error"
    assert error.message == "breaks failed unexpectedly (Unspeakable)"


@pytest.mark.parametrize("make", [TransportError, ConnectTimeout, lambda: urllib.error.URLError("reset")])
async def test_a_lost_connection_of_an_effect_is_unknown_whatever_its_client_calls_it(make: Callable[..., Exception]):
    @tool(effects="network_access", risk="low")
    async def post() -> str:
        """Lose the connection."""
        raise make()

    async with memory_gate(post, answers=["approve"]) as gate:
        outcome = await gate.call("post")
    assert outcome.status == "unknown"


async def leaves() -> str:
    """Try to end the process."""
    sys.exit(3)


def leaves_a_thread() -> str:
    """Try to end the process, from a thread."""
    sys.exit(3)


@pytest.mark.parametrize("handler", [leaves, leaves_a_thread])
@pytest.mark.parametrize("effects", ["read_only", "system_state"])
async def test_a_handler_that_exits_ends_its_call_and_nothing_else(handler: Callable[[], Any], effects: str):
    async with memory_gate() as gate:
        gate.add(handler, name="leaves", effects=effects, risk="low")
        outcome = await gate.call("leaves", {}, Context(idempotency_key="k"))
        recorded = [event.type async for event in gate.events(call_id=outcome.call_id)]
        again = await gate.call("leaves", {}, Context(idempotency_key="k"))
        with pytest.raises(errors.ToolExecutionError):
            outcome.unwrap()
        with pytest.raises((errors.ToolExecutionError, RuntimeError)):
            await ToolExecutor(gate).run("leaves", Context())
    assert outcome.status == again.status == "failed"
    assert recorded == ["tool_call.attempted", "tool_call.failed"]


@tool(effects="read_only")
async def echo(text: str, times: int = 1) -> str:
    """Say it again."""
    return text * times


@tool(effects="read_only")
async def soft() -> dict[str, str]:
    """Fail politely."""
    return {"error": "the index is empty"}


@tool(effects="read_only")
async def breaks() -> str:
    """Fail plainly."""
    raise FileNotFoundError("no such note")


@tool(effects="read_only", scopes="fs:read")
async def scoped() -> str:
    """Needs a scope nobody gives."""
    raise AssertionError


@pytest.mark.requirement("ERR-02")
@pytest.mark.parametrize("name", ["nowhere", "soft", "breaks", "echo"])
async def test_every_error_has_its_text_category_tool_and_a_suggestion(name: str):
    async with memory_gate(echo, soft, breaks) as gate:
        error = (await gate.call(name)).error
    assert error is not None
    body = error.to_json()
    assert body.keys() >= {"error", "category", "tool", "suggestion"}
    assert body["tool"] == name
    assert all(isinstance(body[key], str) and body[key] for key in ("error", "category", "suggestion"))


@pytest.mark.requirement("ERR-04")
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, "Missing required parameter: text"),
        ({"text": "a", "loud": True}, "Unknown parameter: loud"),
        ({"text": "a", "times": "many"}, "times"),
        ({"text": "a", "times": True}, "times"),
        (["text"], "arguments must be an object, not list"),
    ],
)
async def test_missing_unknown_and_mistyped_arguments_are_input_errors(arguments: Any, fault: str):
    async with memory_gate(echo) as gate:
        outcome = await gate.call("echo", arguments)
    assert outcome.status == "refused"
    assert outcome.error is not None
    assert (outcome.error.code, outcome.error.category.value) == ("invalid_arguments", "user_input_error")
    assert any(fault in told for told in outcome.error.faults)


@pytest.mark.requirement("ERR-05")
def test_everything_a_call_can_raise_derives_from_one_error():
    kinds = (
        errors.ToolNotFoundError,
        errors.ToolExecutionError,
        errors.ToolTimeoutError,
        errors.ToolPermissionError,
        errors.SkillNotFoundError,
        errors.Refusal,
        errors.ApprovalRequired,
        errors.PreviewRequired,
        errors.ToolOutcomeUnknown,
    )
    assert all(issubclass(kind, errors.ToolError) for kind in kinds)


@pytest.mark.requirement("ERR-05")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nowhere", errors.ToolNotFoundError),
        ("echo", errors.InvalidArguments),
        ("scoped", errors.ToolPermissionError),
        ("breaks", errors.ToolExecutionError),
        ("soft", errors.ToolExecutionError),
    ],
)
async def test_unwrapping_raises_the_typed_error_with_the_handlers_own_as_its_cause(
    name: str, kind: type[errors.ToolError]
):
    async with memory_gate(echo, soft, breaks, scoped) as gate:
        outcome = await gate.call(name, {}, Context(scopes=frozenset()))
    with pytest.raises(kind) as caught:
        outcome.unwrap()
    assert caught.value.info is outcome.error
    assert isinstance(caught.value.__cause__, FileNotFoundError) == (name == "breaks")


@pytest.mark.requirement("ERR-06")
async def test_no_trouble_of_a_call_is_an_exception():
    async with memory_gate(echo, soft, breaks) as gate:
        outcomes: list[Outcome] = [await gate.call(name) for name in ("nowhere", "echo", "soft", "breaks")]
    for outcome in outcomes:
        machine = outcome.to_machine()
        assert outcome.error is not None
        assert (machine["ok"], machine["status"], machine["output"]) == (False, "error", outcome.error.message)


@pytest.mark.requirement("ERR-08")
@pytest.mark.parametrize("effects", ["read_only", "system_state"])
async def test_a_returned_error_is_a_failed_call_in_log_events_and_outcome_alike(effects: str):
    @tool(effects=effects, risk="low")
    async def polite() -> dict[str, str]:
        """Fail politely."""
        return {"error": "the index is empty"}

    told: list[Any] = []
    async with memory_gate(polite) as gate:
        gate.on("tool.call.*", told.append)
        outcome = await gate.call("polite")
        recorded = [event async for event in gate.events(call_id=outcome.call_id)]
    assert outcome.status == "failed"
    assert outcome.error is not None
    assert outcome.error.message == "the index is empty"
    assert [event.type for event in recorded] == ["tool_call.attempted", "tool_call.failed"]
    assert (recorded[1].payload or {})["error"]["error"] == "the index is empty"
    assert [item.type for item in told] == ["tool.call.pending", "tool.call.failure"]
    assert told[1].payload["error_message"] == "the index is empty"


@pytest.mark.requirement("ERR-02")
async def test_what_is_not_there_is_named_in_the_error_without_its_secrets():
    secret = "heron-5520-lantern"
    process_striker().remember(secret, connector="notes", key="token")

    @tool(effects="system_state", risk="low")
    async def forget(note_id: str) -> None:
        """Forget a note."""
        raise errors.NothingThere(f"there is no note {note_id}", note_id=note_id, where=["here", 7])

    async with memory_gate(forget) as gate:
        outcome = await gate.call("forget", {"note_id": "n1"}, Context(idempotency_key="k"))
        again = await gate.call("forget", {"note_id": "n1"}, Context(idempotency_key="k"))
        struck = await gate.call("forget", {"note_id": secret}, Context(idempotency_key="k2"))
    for each in (outcome, again):
        assert each.error is not None
        assert each.error.category is Category.USER_INPUT
        assert (each.error.to_json()["note_id"], each.error.to_json()["where"]) == ("n1", ["here", 7])
    assert struck.error is not None
    assert "note_id" in struck.error.details
    assert secret not in str(struck.error)


@pytest.mark.requirement("ERR-02")
async def test_what_is_not_there_is_told_under_names_of_a_tools_own():
    """A state, a code or an approval of what the tool is about is nothing that the gate says of the call."""
    details = {"state": "CA", "outcome": "declined", "row_digest": "2:0", "approval_id": "a1", "duration_ms": -1}
    of_the_error = {"code": "policy_denied", "tool": "another", "category": "network"}

    @tool(effects="system_state", risk="low")
    async def ship() -> None:
        """Ship an order."""
        raise errors.NothingThere("there is no such order", **details, **of_the_error)

    async with memory_gate(ship) as gate:
        outcome = await gate.call("ship", {})
        (told,) = [event.payload async for event in gate.events(types=["tool_call.failed"])]
    assert told is not None
    assert outcome.error is not None
    assert outcome.error.details == details | of_the_error
    said = outcome.error.to_json()
    assert told["error"] == said
    assert (said["code"], said["tool"], said["category"]) == ("handler_failed", "ship", Category.USER_INPUT.value)
    assert {name: said[name] for name in details} == details
    assert set(told) == {"tool", "tool_id", "duration_ms", "error", "exception", "effect", "row_digest"}
    assert told["row_digest"] != details["row_digest"]
    assert told["duration_ms"] >= 0


@pytest.mark.requirement("ERR-08")
async def test_an_empty_error_and_a_declared_one_are_values():
    @tool(effects="read_only")
    async def empty() -> dict[str, str]:
        """Say that there was none."""
        return {"error": ""}

    declared = {"type": "object", "properties": {"error": {"type": "string"}}}

    @tool(effects="read_only", output_schema=declared)
    async def report() -> dict[str, str]:
        """Report an error of somebody else's."""
        return {"error": "theirs"}

    async with memory_gate(empty, report) as gate:
        assert (await gate.call("empty")).unwrap() == {"error": ""}
        assert (await gate.call("report")).unwrap() == {"error": "theirs"}


async def test_a_context_that_is_none_is_told_by_its_name():
    @tool(effects="read_only")
    def greet() -> str:
        return "hello"

    async with memory_gate(greet) as gate:
        with pytest.raises(errors.ConfigurationError, match="who asks is said with a Context, not with dict"):
            await gate.call("greet", {}, {"user": "ann"})  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"config": {"autonomy": "A4"}}, r"config must be a file, or a callgate\.settings\.values\.Settings, not dict"),
        ({"context": "ann"}, r"context must be a callgate\.Context, not str"),
        ({"store": 3}, r'store must be a text such as "sqlite:///calls\.db", not int'),
    ],
)
def test_what_a_gate_is_opened_with_is_told_where_it_is_nothing_of_the_kind(given: dict[str, Any], told: str):
    with pytest.raises(errors.ConfigurationError, match=told):
        Callgate.open(**given)


async def test_a_person_who_is_no_text_decides_nothing():
    @tool(effects="system_state", risk="high")
    def greet() -> str:
        return "hello"

    async with memory_gate(greet) as gate:
        asked = await gate.call("greet")
        assert isinstance(asked, Pending)
        nobody: Any = 3
        decisions: tuple[Callable[[], Awaitable[Any]], ...] = (
            lambda: gate.approve(asked.approval_id, by=nobody),
            lambda: gate.grant("greet", by=nobody),
            lambda: gate.revoke("unknown", by=nobody),
            lambda: gate.resolve("unknown", happened=True, by=nobody),
            lambda: gate.accept_restore(by=nobody, why="moved"),
            lambda: gate.erase(by=nobody, why="asked to"),
            lambda: gate.admit_agent("bot", by=nobody),
            lambda: gate.revoke_credential("unknown", by=nobody),
            lambda: gate.end_visits("unknown", by=nobody),
            lambda: gate.distrust("greet", by=nobody, why="it is odd"),
        )
        for decide in decisions:
            with pytest.raises(errors.ConfigurationError, match="the name of a person, as text, not int"):
                await decide()


async def test_what_could_never_count_is_refused_where_it_is_said():
    @tool(effects="system_state", risk="high")
    def greet(to: str) -> str:
        return to

    @tool(effects="read_only")
    def look() -> str:
        return ""

    async with memory_gate(greet, look) as gate:
        nothing: Any = 3
        with pytest.raises(errors.ConfigurationError, match="greet has no argument 'too'; did you mean to"):
            await gate.grant("greet", by="ann", pattern={"too": "bob"})
        with pytest.raises(errors.ConfigurationError, match="look has no argument 'to'; there are no arguments"):
            await gate.grant("look", by="ann", pattern={"to": "bob"})
        with pytest.raises(errors.ConfigurationError, match="handler must be a function of an event, not int"):
            gate.on("tool_call.*", nothing)
        with pytest.raises(errors.ConfigurationError, match="agent cannot accept this: it takes a person"):
            await gate.accept_restore(by="agent", why="it asked")
