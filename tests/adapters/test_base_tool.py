"""BaseTool: several actions of one outside system."""

import inspect
from typing import Any

import pytest

from callgate.adapters.base_tool import BaseTool, PreviewResult, ToolCallContext
from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError, InvalidArguments, SecretsClosed, ToolExecutionError
from callgate.model.context import Context
from callgate.model.health import HEALTHY
from callgate.model.levels import Autonomy, Effect, Risk
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext

SEND = {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"], "additionalProperties": False}
SEARCH = {"type": "object", "properties": {"query": {"type": "string"}, "limit": {"type": "integer", "default": 5}}}


class Store:
    def get_secret(self, connector: str, key: str) -> str:
        return f"{connector}-{key}-value"


class Gmail(BaseTool):
    """Mail of one account.

    Args:
        none: of these
    """

    actions = {"send": SEND, "search": SEARCH}  # noqa: RUF012 - as authors write it
    descriptions = {"send": "Send a mail."}  # noqa: RUF012 - as authors write it
    risk_default = "medium"
    risk_map = {"send": Risk.HIGH}  # noqa: RUF012 - as authors write it
    effects = {"send": "network_access", "search": ["read_only", "network_access"]}  # noqa: RUF012 - as authors write it
    declarations = {"send": {"idempotent": True, "timeout": 5}}  # noqa: RUF012 - as authors write it

    @property
    def tool_name(self) -> str:
        return "gmail"

    @property
    def capabilities(self) -> list[str]:
        return ["mail"]

    @property
    def scopes_required(self) -> list[str]:
        return ["net:outbound"]

    @property
    def config_ref(self) -> str | None:
        return "db:connectors/1"

    def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
        if request.get("to") == "nobody":
            return {"output": None, "error": "no such address"}
        return [action, request, self.get_secret("token"), context.idempotency_key]

    def preview(self, action: str, request: dict[str, Any], context: ToolCallContext) -> PreviewResult | None:
        return PreviewResult(text=f"would {action} to {request['to']}") if action == "send" else None


class Plain(BaseTool):
    @property
    def tool_name(self) -> str:
        return "plain"

    @property
    def capabilities(self) -> list[str]:
        return ["go"]

    async def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
        return [action, request, context, self.secrets.get_secret("plain", "k")]


def tools(thing: Any, **fields: Any) -> dict[str, Tool]:
    return {made.name: made for made in convert(thing, **fields)}


def tool_context(context: Context | None = None, **more: Any) -> ToolContext:
    return ToolContext(context=context or Context(), tool="t", call_id="c", **more)


def source(connector: str, key: str) -> str:
    return f"gate:{connector}/{key}"


def test_each_action_is_a_tool():
    made = tools(Gmail)
    assert list(made) == ["gmail.send", "gmail.search"]
    send, search = made.values()
    assert (send.description, search.description) == ("Send a mail.", "Mail of one account.")
    assert {each.connector for each in made.values()} == {"gmail"}
    assert (send.idempotent, send.timeout, search.idempotent) == (True, 5.0, False)
    assert send.scopes == {"net:outbound"}
    assert send.effects == {Effect.NETWORK_ACCESS}
    assert search.read_only
    assert send.capabilities == ("mail",)
    assert send.config_ref == "db:connectors/1"
    assert send.input_schema == SEND
    assert send.definition_hash != search.definition_hash


@pytest.mark.requirement("GATE-01")
def test_base_risk_is_the_actions_where_one_is_mapped_else_the_default():
    made = tools(Gmail)
    assert made["gmail.send"].base_risk is Risk.HIGH
    assert made["gmail.search"].base_risk is Risk.MEDIUM
    assert made["gmail.search"].risk_declared is True
    assert tools(Plain)["plain.go"].base_risk is Risk.HIGH
    assert tools(Plain)["plain.go"].risk_declared is False


def test_arguments_are_held_against_the_actions_schema():
    made = tools(Gmail)
    assert made["gmail.search"].validator({}) == {"limit": 5}
    with pytest.raises(InvalidArguments, match="Unknown parameter: bcc"):
        made["gmail.send"].validator({"to": "a", "bcc": "b"})


def test_a_call_runs_its_action_with_secrets_of_the_gate():
    send = tools(Gmail)["gmail.send"]
    assert send.handler is not None
    output = send.handler({"to": "a"}, tool_context(secret_source=source, key="k1"))
    assert output == ["send", {"to": "a"}, "gate:gmail/token", "k1"]


def test_an_error_in_its_result_is_a_failure():
    send = tools(Gmail)["gmail.send"]
    assert send.handler is not None
    with pytest.raises(ToolExecutionError, match="no such address"):
        send.handler({"to": "nobody"}, tool_context())


async def test_an_async_action_is_awaited_and_sees_who_asks():
    go = tools(Plain)["plain.go"]
    assert go.is_async
    assert go.handler is not None
    asked = Context(task_id="t1", step_id="s1", autonomy=Autonomy.A3, scopes=frozenset({"fs:read"}))
    action, request, seen, secret = await go.handler({"x": 1}, tool_context(asked, secret_source=source))
    assert (action, request, secret) == ("go", {"x": 1}, "gate:plain/k")
    assert (seen.trace_id, seen.task_id, seen.step_id) == (asked.trace_id, "t1", "s1")
    assert (seen.autonomy_level, seen.granted_scopes) == ("A3", {"fs:read"})


def test_scopes_that_are_inherited_are_at_least_the_required_ones():
    class Echo(Gmail):
        def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
            return context.granted_scopes

    echo = tools(Echo)["gmail.send"]
    assert echo.handler is not None
    assert echo.handler({"to": "a"}, tool_context()) == {"net:outbound"}


async def test_a_plain_function_that_hands_on_a_coroutine_still_has_its_secrets():
    class Later(Gmail):
        def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any:
            return self._later()

        async def _later(self) -> Any:
            return {"output": self.get_secret("token"), "error": None}

    later = tools(Later)["gmail.send"]
    assert later.handler is not None
    output = later.handler({"to": "a"}, tool_context(secret_source=source))
    assert inspect.isawaitable(output)
    assert await output == "gate:gmail/token"


async def test_preview_is_there_where_it_was_implemented():
    made = tools(Gmail)
    hook = made["gmail.send"].hooks.preview
    assert hook is not None
    assert hook({"to": "a"}, tool_context()).text == "would send to a"
    other = made["gmail.search"].hooks.preview
    assert other is not None
    assert other({}, tool_context()) is None
    assert tools(Plain)["plain.go"].hooks.preview is None


def test_a_preview_gets_no_secrets():
    class Curious(Gmail):
        def preview(self, action: str, request: dict[str, Any], context: ToolCallContext) -> PreviewResult | None:
            return PreviewResult(text=self.get_secret("token"))

    hook = tools(Curious(Store()))["gmail.send"].hooks.preview
    assert hook is not None
    with pytest.raises(SecretsClosed):
        hook({"to": "a"}, tool_context(secret_source=source))


class Eager(Gmail):
    def __init__(self, secrets: Any = None) -> None:
        super().__init__(secrets)
        self.token = self.secrets.get_secret("gmail", "token")


@pytest.mark.requirement("SEC-01")
def test_asking_for_a_secret_while_it_is_made_fails():
    with pytest.raises(SecretsClosed, match="gmail/token"):
        convert(Eager)
    with pytest.raises(SecretsClosed):
        convert(Eager, secrets=Store())
    with pytest.raises(SecretsClosed):
        Eager(Store())


@pytest.mark.requirement("SEC-01")
def test_a_store_given_at_construction_answers_inside_a_call_and_only_there():
    (send, _) = convert(Gmail, secrets=Store())
    assert send.handler is not None
    assert send.handler({"to": "a"}, tool_context())[2] == "gmail-token-value"
    with pytest.raises(SecretsClosed):
        send.original.get_secret("token")
    ended = tool_context(secret_source=source)
    ended.end()
    with pytest.raises(SecretsClosed):
        send.handler({"to": "a"}, ended)


@pytest.mark.requirement("SEC-01")
@pytest.mark.parametrize("own", [True, False])
def test_a_call_that_ends_while_the_store_is_asked_gets_nothing(own: bool):
    class Slow:
        def get_secret(self, connector: str, key: str) -> str:
            running.end()
            return "too-late"

    running = tool_context(secret_source=Slow().get_secret)
    (send, _) = convert(Gmail, secrets=Slow() if own else None)
    assert send.handler is not None
    with pytest.raises(SecretsClosed):
        send.handler({"to": "a"}, running)


def test_no_value_is_in_what_a_tool_shows_of_itself():
    assert "value" not in repr(Gmail(Store()).secrets)
    assert "token" not in repr(convert(Gmail, secrets=Store()))


def test_without_actions_each_capability_is_one():
    go = tools(Plain)["plain.go"]
    assert go.input_schema == {"type": "object"}
    assert go.declared is False


def test_one_answer_about_effects_can_stand_for_all_actions():
    class Reads(Plain):
        effects = "read_only"

    assert tools(Reads)["plain.go"].read_only


def test_plain_class_attributes_will_do_for_properties():
    assert list(tools(type("Other", (Plain,), {"tool_name": "other", "capabilities": ["a", "b"]}))) == [
        "other.a",
        "other.b",
    ]


def test_fields_given_on_adding_stand_first():
    made = tools(Gmail, risk="critical", category="mail")
    assert {each.base_risk for each in made.values()} == {Risk.CRITICAL}
    assert {each.category for each in made.values()} == {"mail"}
    with pytest.raises(ConfigurationError, match="one name cannot stand for 2 tools"):
        convert(Gmail, name="mail")


def test_what_it_does_not_say_has_a_default():
    class Least(BaseTool):
        actions = {"go": SEND}  # noqa: RUF012 - as authors write it

        @property
        def tool_name(self) -> str:
            return "least"

        def execute(self, action: str, request: dict[str, Any], context: ToolCallContext) -> Any: ...

    go = tools(Least)["least.go"]
    assert (go.capabilities, go.scopes, go.config_ref, go.connector) == ((), frozenset(), None, "least")
    assert Least().preview("go", {}, None) is None  # pyright: ignore[reportArgumentType]


def test_health_can_be_asked():
    assert Gmail().health() is HEALTHY


class Needy(Gmail):
    def __init__(self, secrets: Any, account: str) -> None:
        super().__init__(secrets)
        self.account = account


class Unfinished(BaseTool):
    @property
    def tool_name(self) -> str:
        return "unfinished"


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        (type("NoActions", (Plain,), {"capabilities": []}), "declares no actions"),
        (type("BadAction", (Plain,), {"actions": {"Send It": SEND}}), "no name for an action"),
        (type("Dotted", (Plain,), {"capabilities": ["mail.send"]}), "no name for an action"),
        (type("Typo", (Gmail,), {"risk_map": {"sendd": "low"}}), "no action 'sendd'; did you mean 'send'"),
        (type("Typo", (Gmail,), {"effects": {"sent": "read_only"}}), "no action 'sent'"),
        (type("BadName", (Plain,), {"tool_name": "My Mail"}), "no tool name"),
        (type("BadField", (Gmail,), {"declarations": {"send": {"risky": True}}}), "declares no 'risky'"),
        (type("BadSchema", (Gmail,), {"actions": {"send": {"type": "string"}, "search": SEARCH}}), 'type "object"'),
        (Needy, "needs more than secrets"),
        (Unfinished, "does not implement execute"),
    ],
)
def test_a_class_that_cannot_be_used_says_why(thing: Any, words: str):
    with pytest.raises(ConfigurationError, match=words):
        convert(thing)


def test_an_instance_can_be_added_where_a_class_cannot():
    assert list(tools(Needy(None, "me"))) == ["gmail.send", "gmail.search"]
