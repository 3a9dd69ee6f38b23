"""Toolkits: which methods become tools, under which names, declared how; and what cannot be one says why."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from callgate import ToolContext, Toolkit, ToolkitSource, register_toolkit, tool
from callgate.adapters.convert import convert
from callgate.adapters.toolkits import toolkit as known
from callgate.errors import ConfigurationError
from callgate.model.levels import Effect, Origin
from callgate.model.source import Loaded
from callgate.model.tool import Tool


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_registered", {})


class NotesToolkit(Toolkit):
    """Notes in memory."""

    def __init__(self, **filters: Any) -> None:
        super().__init__(**filters)
        self.notes = ["a b", "b c"]

    @tool(effects="read_only", tags=["text"])
    def search(self, word: str) -> list[str]:
        """Find notes with a word.

        Args:
            word: What to look for.
        """
        return [note for note in self._all() if word in note]

    @tool(effects="modifies_files", risk="low")
    async def keep(self, text: str, ctx: ToolContext) -> str:
        """Keep a note."""
        self.notes.append(text)
        return ctx.tool

    @staticmethod
    def shout(text: str) -> str:
        """Make it loud."""
        return text.upper()

    @property
    def count(self) -> int:
        raise AssertionError("nobody may ask this while tools are read")

    def _all(self) -> list[str]:
        return self.notes


def _twice(text: str) -> str:
    return text * 2


def by_name(tools: list[Tool]) -> dict[str, Tool]:
    return {each.name: each for each in tools}


async def loaded(source: ToolkitSource) -> Loaded:
    return await source.load(None)  # pyright: ignore[reportArgumentType] - a toolkit asks nothing of the desk


@pytest.mark.requirement("ADP-02")
@pytest.mark.parametrize("thing", [NotesToolkit, NotesToolkit()])
async def test_each_public_method_is_a_tool_of_the_toolkit_also_while_a_loop_runs(thing: Any):
    tools = by_name(convert(thing))
    assert list(tools) == ["search", "keep", "shout"]
    search = tools["search"]
    assert (search.source, search.source_name, search.connector) == (Origin.TOOLKIT, "notes", "notes")
    assert search.tags == ("source:toolkit", "toolkit:notes", "text")
    assert search.description == "Find notes with a word."
    assert search.input_schema["properties"]["word"]["description"] == "What to look for."
    assert search.read_only
    assert "ctx" not in tools["keep"].input_schema["properties"]


def test_what_a_method_does_not_say_is_what_all_say_and_else_nothing():
    class Readers(Toolkit):
        declaration = {"effects": "read_only", "timeout": 5}  # noqa: RUF012 - as users write it

        def look(self) -> str:
            """Look."""
            return ""

        @tool(effects="system_state")
        def change(self) -> str:
            """Change."""
            return ""

    tools = by_name(convert(Readers))
    assert (tools["look"].effects, tools["look"].timeout) == ({Effect.READ_ONLY}, 5)
    assert (tools["change"].effects, tools["change"].timeout) == ({Effect.SYSTEM_STATE}, 5)
    assert not by_name(convert(NotesToolkit))["shout"].declared
    assert by_name(convert(NotesToolkit, scopes="notes:use"))["shout"].declared


def test_methods_of_classes_that_are_no_toolkits_are_not_offered():
    class Client:
        def delete_everything(self) -> None:
            raise AssertionError

    class Narrow(NotesToolkit, Client):
        search = None  # pyright: ignore[reportAssignmentType] - taken back

        def more(self) -> str:
            """More."""
            return ""

    assert list(by_name(convert(Narrow))) == ["keep", "shout", "more"]


def test_filters_take_in_and_leave_out_by_name_or_glob():
    assert list(by_name(convert(NotesToolkit(include=["s*"])))) == ["search", "shout"]
    assert list(by_name(convert(NotesToolkit(include="s*", exclude="shout")))) == ["search"]
    with pytest.raises(ConfigurationError, match="'delete' fits none of its tools: search, keep, shout"):
        convert(NotesToolkit(exclude=["delete"]))


def test_a_toolkit_may_give_its_functions_itself_and_another_class_too():
    class Mapped(Toolkit):
        def get_tools_map(self) -> dict[str, Callable[..., Any]]:
            return {"twice": _twice}

    class Theirs:
        async def get_filtered_tools_map(self) -> dict[str, Callable[..., Any]]:
            return {"size": _twice}

        def close(self) -> None: ...

    assert list(by_name(convert(Mapped))) == ["twice"]
    [size] = convert(Theirs())
    assert (size.name, size.source_name) == ("size", "theirs")


def test_registering_names_a_class_whatever_it_derives_from():
    @register_toolkit("birds")
    class Whatever:
        def sing(self) -> str:
            """Sing."""
            return "la"

        def close(self) -> str:
            """No word of ours: it derives from nothing."""
            return ""

    @register_toolkit
    class StarsToolkit(Toolkit):
        def shine(self) -> str:
            """Shine."""
            return ""

    assert known.registered_toolkits() == {"birds": Whatever, "stars": StarsToolkit}
    tools = by_name(convert(Whatever))
    assert {each.source_name for each in tools.values()} == {"birds"}
    assert list(tools) == ["sing", "close"]
    with pytest.raises(ConfigurationError, match="'birds' is registered already"):
        register_toolkit("birds")(StarsToolkit)
    register_toolkit("birds")(Whatever)


@pytest.mark.parametrize("thing", [print, 3])
def test_only_a_class_is_registered(thing: Any):
    with pytest.raises(ConfigurationError, match="stands over a class"):
        register_toolkit(thing)
    with pytest.raises(ConfigurationError, match="stands over a class"):
        register_toolkit("x")(thing)


def test_a_name_that_is_none_is_refused():
    with pytest.raises(ConfigurationError, match="no name for a toolkit"):
        register_toolkit("a.b")(NotesToolkit)

    class Unnamed(Toolkit):
        name = "…"

    with pytest.raises(ConfigurationError, match="no name for a toolkit"):
        convert(Unnamed)


def test_a_module_brings_the_toolkits_it_registers_and_no_others(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("some_toolkits")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    @register_toolkit
    class OwnToolkit(Toolkit):
        def own(self) -> str:
            """Own."""
            return ""

    @register_toolkit
    class ElsewhereToolkit(Toolkit):
        def elsewhere(self) -> str:
            """Imported from elsewhere."""
            return ""

    OwnToolkit.__module__ = module.__name__
    vars(module).update(OwnToolkit=OwnToolkit, ElsewhereToolkit=ElsewhereToolkit, NotesToolkit=NotesToolkit)
    assert list(by_name(convert(module))) == ["own"]


@pytest.mark.requirement("ADP-08")
def test_adding_a_toolkit_that_cannot_be_made_says_which_and_why():
    class Needy(Toolkit):
        def __init__(self, address: str) -> None:
            super().__init__()
            self.address = address

    class Broken(Toolkit):
        def setup(self) -> None:
            raise OSError("no such host")

    class Empty(Toolkit): ...

    with pytest.raises(ConfigurationError, match=r"the toolkit needy cannot be made: TypeError: .*address"):
        convert(Needy)
    with pytest.raises(ConfigurationError, match="the toolkit broken cannot be made: OSError: no such host"):
        convert(Broken)
    with pytest.raises(ConfigurationError, match="empty has no public method"):
        convert(Empty)


class SlowToolkit(Toolkit):
    """Gets ready by waiting."""

    async def setup(self) -> None:
        await asyncio.sleep(0)
        self.ready = True

    @tool(effects="read_only")
    def is_ready(self) -> bool:
        """Whether it is."""
        return self.ready


@pytest.mark.requirement("ADP-02")
async def test_what_has_to_be_waited_for_is_attached_and_not_added():
    with pytest.raises(ConfigurationError, match=r"slow has to be waited for; use `await gate.attach"):
        convert(SlowToolkit)
    [ready] = (await loaded(ToolkitSource(SlowToolkit))).tools
    assert ready.handler is not None
    assert ready.handler({}, None) is True


@pytest.mark.requirement("ADP-08")
async def test_of_several_toolkits_the_good_ones_load_and_the_others_are_told():
    class Bad(Toolkit):
        def __init__(self) -> None:
            raise RuntimeError("out of ink")

    class Odd(Toolkit):
        @tool(effects="read_only")
        def fine(self) -> str:
            """Fine."""
            return ""

        def yields(self) -> Iterator[str]:
            """Yields."""
            yield ""

    async def make_notes() -> NotesToolkit:
        await asyncio.sleep(0)
        return NotesToolkit()

    found = await loaded(ToolkitSource(Bad, Odd(), make_notes, name="desk", exclude=["keep", "typo"]))
    assert {each.name: each.source_name for each in found.tools} == {"fine": "desk", "search": "desk", "shout": "desk"}
    assert "toolkit:make_notes" in by_name(list(found.tools))["search"].tags
    reasons = {failure.name: failure.reason for failure in found.failures}
    assert set(reasons) == {"bad", "odd.yields", "typo"}
    assert reasons["bad"] == "the toolkit bad cannot be made: RuntimeError: out of ink"
    assert "yields" in reasons["odd.yields"]


async def test_a_prefix_keeps_toolkits_apart():
    found = await loaded(ToolkitSource(NotesToolkit, prefix="mine", include="search"))
    assert [(each.name, each.connector, each.source_name) for each in found.tools] == [("mine.search", "mine", "notes")]
    with pytest.raises(ConfigurationError, match="no prefix"):
        ToolkitSource(NotesToolkit, prefix="a.b")


async def test_without_any_named_the_registered_ones_are_the_source():
    register_toolkit(NotesToolkit)
    source = ToolkitSource()
    assert source.name == "toolkits"
    assert [each.name for each in (await loaded(source)).tools] == ["search", "keep", "shout"]


async def test_a_toolkit_is_made_once_read_again_and_closed_once():
    made: list[str] = []

    class Counted(Toolkit):
        def __init__(self) -> None:
            made.append("made")

        def get_tools_map(self) -> Any:
            if made[-1] == "vanishing":
                raise KeyError("gone")
            return {f"tool_{len(made)}": lambda: 1}

        async def close(self) -> None:
            made.append("closed")
            raise OSError

    source = ToolkitSource(Counted)
    assert [each.name for each in (await loaded(source)).tools] == ["tool_1"]
    made.append("later")
    assert [each.name for each in (await loaded(source)).tools] == ["tool_2"]
    made.append("vanishing")
    [failure] = (await loaded(source)).failures
    assert "counted cannot be read: KeyError" in failure.reason
    await source.close()
    await source.close()
    assert made == ["made", "later", "vanishing", "closed"]


async def test_what_a_function_makes_must_be_a_toolkit():
    [failure] = (await loaded(ToolkitSource(lambda: 3, name="odd"))).failures
    assert "no toolkit" in failure.reason


async def test_a_map_that_is_none_is_told_and_another_s_class_is_not_closed():
    class Listed:
        def get_tools_map(self) -> Any:
            return [_twice]

    class Theirs:
        def get_tools_map(self) -> Any:
            return {"twice": _twice}

        def close(self) -> None:
            raise AssertionError("nobody said that it has our words")

    source = ToolkitSource(Listed, Theirs(), 3)
    found = await loaded(source)
    assert [each.name for each in found.tools] == ["twice"]
    reasons = {failure.name: failure.reason for failure in found.failures}
    assert "not functions by name" in reasons["listed"]
    assert "no toolkit" in reasons["int"]
    await source.close()


async def test_a_toolkit_without_a_name_is_told_as_well():
    class Unnamed(Toolkit):
        name = "…"

    [failure] = (await loaded(ToolkitSource(Unnamed, NotesToolkit))).failures
    assert (failure.name, "no name for a toolkit" in failure.reason) == ("Unnamed", True)
