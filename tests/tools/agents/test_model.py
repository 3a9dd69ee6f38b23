"""Which model is used, and what is said where it cannot be."""

from __future__ import annotations

import pytest

from callgate.errors import ConfigurationError, NoEffect, SecretNotFound
from callgate.settings.load import parse_settings
from callgate.settings.values import ModelSettings
from callgate.tools.agents.model import open_model


def no_secret(connector: str, key: str) -> str:
    raise SecretNotFound(f"there is no secret {connector}/{key}")


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


def test_a_model_is_made_with_its_key_and_address() -> None:
    settings = ModelSettings(provider="openai-chat:m", url="http://127.0.0.1:1/v1", secret="model/key")
    model = open_model(settings, lambda connector, key: f"{connector}-{key}-value")
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
def test_one_that_cannot_be_had_says_what_to_do(
    settings: ModelSettings, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(NoEffect, match=part):
        open_model(settings, no_secret)
