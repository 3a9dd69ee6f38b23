"""Reading `model:`: which model the tools use that have one, and where its key comes from. Asks nobody."""

from __future__ import annotations

import re

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, Reading
from callgate.settings.leaves import Text
from callgate.settings.values import ModelSettings

_PROVIDER = r"[a-z][a-z0-9./-]*:[^\s:][^\s]*"
_URL = r"https?://[^\s/@?#]+(/[^\s?#]*)?"
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_SECRET = rf"{_NAME}/{_NAME}"


def _parse_provider(text: str) -> str:
    if not re.fullmatch(_PROVIDER, text):
        raise Fault("needs a provider and a model, such as anthropic:claude-sonnet-4-5")
    return text


def _parse_url(text: str) -> str:
    if not re.fullmatch(_URL, text):
        raise Fault("needs a URL such as https://models.example.com/v1, without a user or a password in it")
    return text


def _parse_secret(text: str) -> tuple[str, str]:
    if not re.fullmatch(_SECRET, text):
        raise Fault("needs the name of a secret, such as model/key; never the key itself")
    connector, _, key = text.partition("/")
    return connector, key


def _build(fields: Fields, _: Reading) -> ModelSettings:
    return ModelSettings(**fields)


MODEL = Block(
    {
        "provider": Key(
            Text(pattern=_PROVIDER, needs="a provider and a model", parse=_parse_provider, longest=300),
            "Provider and model as Pydantic AI writes them, such as anthropic:claude-sonnet-4-5.",
            required=True,
        ),
        "url": Key(
            Text(pattern=_URL, needs="a URL", parse=_parse_url, longest=2000),
            "Where the model is asked, if not at the provider's own address.",
        ),
        "secret": Key(
            Text(pattern=_SECRET, needs="the name of a secret", parse=_parse_secret, longest=500),
            "The secret with its API key; else the provider's own variable of the environment.",
        ),
    },
    _build,
)
