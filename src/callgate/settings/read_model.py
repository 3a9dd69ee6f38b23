"""Reading `model:`: which model the tools use that have one, and where its key comes from. Asks nobody."""

from __future__ import annotations

import re

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, Reading
from callgate.settings.leaves import Text
from callgate.settings.servers import SECRET_NAME, SERVER, refuse_clear_text
from callgate.settings.values import ModelSettings

_PROVIDER = r"[a-z][a-z0-9./-]*:[^\s:][^\s]*"


def _parse_provider(text: str) -> str:
    if not re.fullmatch(_PROVIDER, text):
        raise Fault("needs a provider and a model, such as anthropic:claude-sonnet-4-5")
    return text


def _build(fields: Fields, _: Reading) -> ModelSettings:
    made = ModelSettings(**fields)
    if made.secret is not None and made.url is not None:
        refuse_clear_text(made.url, "url")
    return made


MODEL = Block(
    {
        "provider": Key(
            Text(pattern=_PROVIDER, needs="a provider and a model", parse=_parse_provider, longest=300),
            "Provider and model as Pydantic AI writes them, such as anthropic:claude-sonnet-4-5.",
            required=True,
        ),
        "url": Key(
            SERVER,
            "Where the model is asked, if not at the provider's own address.",
        ),
        "secret": Key(
            SECRET_NAME,
            "Where its API key is kept with the secrets, as connector/key; else its provider looks at the environment.",
        ),
    },
    _build,
)
