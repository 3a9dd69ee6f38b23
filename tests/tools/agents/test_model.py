"""Which model is used, and what is said where it cannot be."""

from __future__ import annotations

import pytest

from callgate import Context
from callgate.errors import ConfigurationError, SecretNotFound
from callgate.model.tool_context import ToolContext
from callgate.settings.load import parse_settings
from callgate.settings.values import ModelSettings
from callgate.tools.agents.model import open_model
from callgate.tools.outbound.troubles import NotSetUp


def test_the_configuration_names_it() -> None:
    text = 'model: {provider: "openai-chat:m", url: "http://127.0.0.1:1/v1", secret: "model/key"}'
    settings = parse_settings(text, file="callgate.yaml")
    assert settings.model == ModelSettings(provider="openai-chat:m", url="http://127.0.0.1:1/v1", secret="model/key")
    assert parse_settings("version: 1", file="callgate.yaml").model is None


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("model: {}", "provider"),
        ("model: {provider: gpt-5}", "provider and a model"),
        ("model: {provider: 'openai:m', secret: sk-123456}", "the key itself is never here"),
        ("model: {provider: 'openai:m', url: 'http://me:pw@host/'}", "without a user"),
        ("model: {provider: 'openai:m', url: 'http://models.example/v1', secret: model/key}", "use https"),
        ("model: {provider: 'openai:m', key: x}", "key"),
    ],
)
def test_what_is_wrong_is_said(text: str, part: str) -> None:
    with pytest.raises(ConfigurationError, match=part) as raised:
        parse_settings(text, file="callgate.yaml")
    assert "sk-123456" not in str(raised.value)
    assert "pw" not in str(raised.value)


def context(*, key: str | None) -> ToolContext:
    def secret(connector: str, name: str) -> str:
        if key is None:
            raise SecretNotFound(f"there is no secret {connector}/{name}")
        return key

    return ToolContext(context=Context(), tool="deep_research", call_id="c", secret_source=secret)


async def test_a_model_is_made_with_its_key_and_address() -> None:
    settings = ModelSettings(provider="openai-chat:m", url="http://127.0.0.1:1/v1", secret="model/key")
    model = await open_model(settings, context(key="some-key"))
    assert (model.model_name, str(model.base_url).rstrip("/")) == ("m", "http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        (ModelSettings(provider="nobody:m"), "nobody:m"),
        (ModelSettings(provider="openai-chat:m", secret="model/key"), "there is no secret model/key"),
        (ModelSettings(provider="openai-chat:m"), "OPENAI_API_KEY"),
        (ModelSettings(provider="nobody:m", url="http://127.0.0.1:1/"), "nobody"),
    ],
    ids=["unknown", "secret", "environment", "unknown with an address"],
)
async def test_one_that_cannot_be_had_says_what_to_do(
    settings: ModelSettings, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(NotSetUp, match=part):
        await open_model(settings, context(key=None))
