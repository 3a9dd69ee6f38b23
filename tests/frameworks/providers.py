"""The three APIs behind one face, so that a journey is told once: what the model says, and what it is told."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from callgate import Callgate
from callgate.frameworks.anthropic_loop import AnthropicLoop
from callgate.frameworks.openai_chat_loop import OpenAIChatLoop
from callgate.frameworks.openai_loop import OpenAILoop
from callgate.frameworks.tool_loop import ToolLoop
from tests.frameworks import stub_anthropic, stub_openai
from tests.frameworks.stub_server import Body, Script, StubServer, dicts


class Told(NamedTuple):
    """A result as the model reads it."""

    id: str
    text: str
    is_error: bool


class Wanted(NamedTuple):
    """A call as the model makes it."""

    id: str
    name: str
    arguments: Body


class Provider(ABC):
    """One API, its SDK and its loop."""

    name: ClassVar[str]
    ending_events: ClassVar[int]
    """How many events at the end of a stream only come once the response is whole."""

    @abstractmethod
    def stub(self, script: Script = ()) -> StubServer: ...

    @abstractmethod
    def client(self, url: str, *, max_retries: int = 0) -> Any: ...

    @abstractmethod
    def loop(self, url: str, gate: Callgate, *, max_retries: int = 0, **choices: Any) -> ToolLoop: ...

    @abstractmethod
    def says(self, words: str) -> Body: ...

    @abstractmethod
    def calls(self, *wanted: Wanted) -> Body: ...

    @abstractmethod
    def is_cut(self, *wanted: Wanted, json_text: str) -> Body:
        """A response that calls, and that was cut short in the last call after this much of its arguments."""

    @abstractmethod
    def refuses(self, words: str, *wanted: Wanted) -> Body:
        """A response that the provider broke off, calls and all."""

    @abstractmethod
    def told(self, request: Body) -> list[Told]:
        """The results at the end of a request."""

    @abstractmethod
    def names(self, request: Body) -> list[str]:
        """The names of the tools of a request."""

    @abstractmethod
    def history(self, request: Body) -> list[Body]:
        """The conversation of a request."""


class Anthropic(Provider):
    name = "anthropic"
    ending_events = 2

    def stub(self, script: Script = ()) -> StubServer:
        return stub_anthropic.AnthropicStub(script)

    def client(self, url: str, *, max_retries: int = 0) -> Any:
        from anthropic import AsyncAnthropic  # noqa: PLC0415 - a process that speaks with one loads one

        return AsyncAnthropic(base_url=url, api_key="none", max_retries=max_retries)

    def loop(self, url: str, gate: Callgate, *, max_retries: int = 0, **choices: Any) -> ToolLoop:
        choices = {"model": "stub", "max_tokens": 100, **choices}
        return AnthropicLoop(self.client(url, max_retries=max_retries), gate, **choices)

    def says(self, words: str) -> Body:
        return stub_anthropic.message(stub_anthropic.text(words))

    def calls(self, *wanted: Wanted) -> Body:
        blocks = [stub_anthropic.use(call.id, call.name, **call.arguments) for call in wanted]
        return stub_anthropic.message(stub_anthropic.thinking("Let me see."), *blocks)

    def is_cut(self, *wanted: Wanted, json_text: str) -> Body:
        *whole, last = wanted
        blocks = [stub_anthropic.use(call.id, call.name, **call.arguments) for call in whole]
        cut = stub_anthropic.cut_use(last.id, last.name, json_text, **last.arguments)
        return stub_anthropic.message(*blocks, cut, stop="max_tokens")

    def refuses(self, words: str, *wanted: Wanted) -> Body:
        blocks = [stub_anthropic.use(call.id, call.name, **call.arguments) for call in wanted]
        return stub_anthropic.message(stub_anthropic.text(words), *blocks, stop="refusal")

    def told(self, request: Body) -> list[Told]:
        blocks = dicts(request["messages"][-1]["content"])
        return [Told(block["tool_use_id"], block["content"], block.get("is_error", False)) for block in blocks]

    def names(self, request: Body) -> list[str]:
        return [tool["name"] for tool in request.get("tools", [])]

    def history(self, request: Body) -> list[Body]:
        return request["messages"]


class OpenAI(Provider):
    """What both APIs have in common."""

    def stub(self, script: Script = ()) -> StubServer:
        return stub_openai.OpenAIStub(script)

    def client(self, url: str, *, max_retries: int = 0) -> Any:
        from openai import AsyncOpenAI  # noqa: PLC0415 - a process that speaks with one loads one

        return AsyncOpenAI(base_url=url, api_key="none", max_retries=max_retries)


class Responses(OpenAI):
    name = "openai"
    ending_events = 1

    def loop(self, url: str, gate: Callgate, *, max_retries: int = 0, **choices: Any) -> ToolLoop:
        choices = {"model": "stub", **choices}
        return OpenAILoop(self.client(url, max_retries=max_retries), gate, **choices)

    def says(self, words: str) -> Body:
        return stub_openai.response(stub_openai.said(words))

    def calls(self, *wanted: Wanted) -> Body:
        items = [stub_openai.called(call.id, call.name, **call.arguments) for call in wanted]
        return stub_openai.response(stub_openai.reasoned(), *items)

    def is_cut(self, *wanted: Wanted, json_text: str) -> Body:
        *whole, last = wanted
        items = [stub_openai.called(call.id, call.name, **call.arguments) for call in whole]
        cut = stub_openai.cut_called(last.id, last.name, json_text)
        return stub_openai.response(*items, cut, status="incomplete", reason="max_output_tokens")

    def refuses(self, words: str, *wanted: Wanted) -> Body:
        items = [stub_openai.called(call.id, call.name, **call.arguments) for call in wanted]
        return stub_openai.response(stub_openai.said(words), *items, status="incomplete", reason="content_filter")

    def told(self, request: Body) -> list[Told]:
        items = [item for item in request["input"] if item.get("type") == "function_call_output"]
        return [Told(item["call_id"], item["output"], item["output"].startswith("[ERROR]")) for item in items]

    def names(self, request: Body) -> list[str]:
        return [tool["name"] for tool in request.get("tools", []) if tool["type"] == "function"]

    def history(self, request: Body) -> list[Body]:
        return request["input"]


class Chat(OpenAI):
    name = "openai_chat"
    ending_events = 3

    def loop(self, url: str, gate: Callgate, *, max_retries: int = 0, **choices: Any) -> ToolLoop:
        choices = {"model": "stub", **choices}
        return OpenAIChatLoop(self.client(url, max_retries=max_retries), gate, **choices)

    def says(self, words: str) -> Body:
        return stub_openai.completion(words)

    def calls(self, *wanted: Wanted) -> Body:
        return stub_openai.completion(None, *map(_tool_call, wanted))

    def is_cut(self, *wanted: Wanted, json_text: str) -> Body:
        *whole, last = wanted
        cut = stub_openai.tool_call(last.id, last.name, json_text)
        return stub_openai.completion(None, *map(_tool_call, whole), cut, stop="length")

    def refuses(self, words: str, *wanted: Wanted) -> Body:
        return stub_openai.completion(words, *map(_tool_call, wanted), stop="content_filter")

    def told(self, request: Body) -> list[Told]:
        found = [message for message in request["messages"] if message["role"] == "tool"]
        return [Told(each["tool_call_id"], each["content"], each["content"].startswith("[ERROR]")) for each in found]

    def names(self, request: Body) -> list[str]:
        return [tool["function"]["name"] for tool in request.get("tools", [])]

    def history(self, request: Body) -> list[Body]:
        return request["messages"]


def _tool_call(call: Wanted) -> Body:
    return stub_openai.tool_call(call.id, call.name, json.dumps(call.arguments))


PROVIDERS: dict[str, Provider] = {each.name: each for each in (Anthropic(), Responses(), Chat())}
