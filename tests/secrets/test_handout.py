"""Handing out: a secret goes to a running handler, is struck from then on, and ends with the call."""

import asyncio
import contextvars
import copy
import importlib.util
import pickle
import threading
from pathlib import Path

import pytest

from callgate.errors import ConfigurationError, SecretNotFound, SecretsClosed
from callgate.model.context import Context
from callgate.model.tool_context import ToolContext
from callgate.secrets.handout import SecretsDoor, SecretsHandle, secrets_open
from callgate.secrets.strike import Striker

VALUE = "s3cr3t-value-of-github"


class OneSecret:
    """A secrets store with one secret, that counts how often it is asked."""

    def __init__(self, value: str = VALUE) -> None:
        self.value = value
        self.asked = 0

    def get_secret(self, connector: str, key: str) -> str:
        self.asked += 1
        if (connector, key) != ("github", "token"):
            raise SecretNotFound(f"there is no secret {connector}/{key}")
        return self.value


class Tool:
    """A tool as seed 000 has it: given the store when it is made, asking inside its handler."""

    def __init__(self, secrets: SecretsHandle, *, ask_now: bool = False) -> None:
        self.secrets = secrets
        if ask_now:
            self.secrets.get_secret("github", "token")

    def execute(self) -> str:
        return self.secrets.get_secret("github", "token")


@pytest.fixture
def store() -> OneSecret:
    return OneSecret()


@pytest.fixture
def striker() -> Striker:
    return Striker()


@pytest.fixture
def door(store: OneSecret, striker: Striker) -> SecretsDoor:
    return SecretsDoor(store, striker)


def test_a_secret_that_was_handed_out_is_struck_from_then_on(door: SecretsDoor, striker: Striker):
    assert striker.strike(f"before {VALUE}") == f"before {VALUE}"
    assert door.for_call()("github", "token") == VALUE
    assert striker.strike(f"after {VALUE}") == "after [secret:github/token]"


@pytest.mark.requirement("SEC-01")
def test_a_tool_asks_inside_its_handler(door: SecretsDoor):
    tool = Tool(SecretsHandle())
    with secrets_open(door.for_call()):
        assert tool.execute() == VALUE


@pytest.mark.requirement("SEC-01")
def test_asking_when_a_tool_is_made_fails_and_asks_no_store(store: OneSecret):
    with pytest.raises(SecretsClosed, match="github/token can only be asked for inside a running handler"):
        Tool(SecretsHandle(), ask_now=True)
    assert store.asked == 0


@pytest.mark.requirement("SEC-01")
def test_asking_when_a_tool_is_imported_fails(tmp_path: Path):
    module = tmp_path / "greedy_tool.py"
    module.write_text(
        "from callgate.secrets.handout import SecretsHandle\nTOKEN = SecretsHandle().get_secret('github', 'token')\n"
    )
    spec = importlib.util.spec_from_file_location("greedy_tool", module)
    assert spec
    assert spec.loader
    with pytest.raises(SecretsClosed):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.requirement("SEC-01")
def test_after_the_call_nothing_is_handed_out(door: SecretsDoor, store: OneSecret):
    tool, call = Tool(SecretsHandle()), door.for_call()
    with secrets_open(call):
        tool.execute()
    with pytest.raises(SecretsClosed):
        tool.execute()
    call.close()
    call.close()
    with pytest.raises(SecretsClosed):
        call("github", "token")
    assert store.asked == 1


def test_an_unknown_pair_is_named_and_nothing_is_remembered(door: SecretsDoor, striker: Striker):
    with pytest.raises(SecretNotFound, match="github/other"):
        door.for_call().get_secret("github", "other")
    assert striker.strike("github/other") == "github/other"


def test_a_secret_too_short_to_be_struck_is_not_handed_out(striker: Striker):
    door = SecretsDoor(OneSecret("abc"), striker)
    with pytest.raises(ConfigurationError, match="github/token has fewer than 4 characters"):
        door.source("github", "token")


async def test_each_task_has_the_secrets_of_its_own_call(striker: Striker):
    tool = Tool(SecretsHandle())

    async def call(value: str, everyone: asyncio.Barrier) -> str:
        with secrets_open(SecretsDoor(OneSecret(value), striker).for_call()):
            await everyone.wait()
            return tool.execute()

    everyone = asyncio.Barrier(3)
    values = ["first secret", "second secret", "third secret"]
    async with asyncio.timeout(10):
        assert await asyncio.gather(*(call(value, everyone) for value in values)) == values


async def test_a_thread_with_the_calls_context_may_ask(door: SecretsDoor):
    tool = Tool(SecretsHandle())
    with secrets_open(door.for_call()):
        assert await asyncio.to_thread(tool.execute) == VALUE


def test_a_thread_without_the_calls_context_may_not_ask(door: SecretsDoor):
    tool, caught = Tool(SecretsHandle()), list[BaseException]()

    def ask() -> None:
        try:
            tool.execute()
        except SecretsClosed as error:
            caught.append(error)

    with secrets_open(door.for_call()):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(timeout=10)
    assert len(caught) == 1


def test_a_handler_that_outlives_its_call_gets_nothing_more(door: SecretsDoor):
    tool, call = Tool(SecretsHandle()), door.for_call()
    with secrets_open(call):
        late = contextvars.copy_context()
    assert late.run(tool.execute) == VALUE
    call.close()
    with pytest.raises(SecretsClosed):
        late.run(tool.execute)


def test_a_call_that_ends_while_the_store_is_asked_gets_nothing(striker: Striker):
    class Slow(OneSecret):
        def get_secret(self, connector: str, key: str) -> str:
            call.close()
            return super().get_secret(connector, key)

    call = SecretsDoor(Slow(), striker).for_call()
    with pytest.raises(SecretsClosed):
        call.get_secret("github", "token")
    assert striker.strike(VALUE) == "[secret:github/token]"


def test_inside_a_call_a_preview_or_check_can_be_kept_without_secrets(door: SecretsDoor):
    tool = Tool(SecretsHandle())
    with secrets_open(door.for_call()):
        with secrets_open(None), pytest.raises(SecretsClosed):
            tool.execute()
        assert tool.execute() == VALUE


def test_a_handle_can_follow_the_running_tool_context(door: SecretsDoor):
    running = contextvars.ContextVar[ToolContext | None]("running", default=None)
    tool = Tool(SecretsHandle(running.get))
    with pytest.raises(SecretsClosed):
        tool.execute()
    context = ToolContext(context=Context(), tool="gh.list", call_id="1", secret_source=door.source)
    running.set(context)
    assert tool.execute() == VALUE
    context.end()
    with pytest.raises(SecretsClosed):
        tool.execute()


def test_neither_door_nor_call_shows_or_gives_away_what_it_holds(door: SecretsDoor, striker: Striker):
    call = door.for_call()
    call("github", "token")
    for private in (door, call, striker, SecretsHandle()):
        assert VALUE not in repr(private)
    for private in (door, call, striker):
        for leak in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                leak(private)
