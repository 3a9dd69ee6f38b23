"""Reading `builtin_tools.github:` and `.language:`: which servers these tools ask, and where their keys are kept."""

from __future__ import annotations

from callgate.settings.complaints import Fault
from callgate.settings.kinds import Block, Fields, Key, Reading
from callgate.settings.leaves import Choice, Text
from callgate.settings.servers import SECRET_NAME, SERVER, refuse_clear_text
from callgate.settings.values import GithubSettings, LanguageSettings

_PROVIDERS = ("wordllama", "openai")


def _build_github(fields: Fields, _: Reading) -> GithubSettings:
    made = GithubSettings(**fields)
    refuse_clear_text(made.api, "api")
    return made


def _build_language(fields: Fields, _: Reading) -> LanguageSettings:
    made = LanguageSettings(**fields)
    if made.provider == "wordllama":
        beyond = [name for name in ("url", "model", "secret") if name in fields]
        if beyond:
            raise Fault(f"{', '.join(beyond)}: wordllama asks no server; write provider: openai, or leave it out")
        return made
    missing = [name for name in ("url", "model") if name not in fields]
    if missing:
        raise Fault(f"provider openai needs {' and '.join(missing)}")
    if made.secret is not None:
        refuse_clear_text(made.url or "", "url")
    return made


GITHUB_TOOLS = Block(
    {
        "api": Key(SERVER, "The REST API; of GitHub Enterprise Server, its address with /api/v3."),
        "secret": Key(SECRET_NAME, "Where the token is kept with the secrets, as connector/key."),
    },
    _build_github,
)
LANGUAGE_TOOLS = Block(
    {
        "provider": Key(
            Choice({name: name for name in _PROVIDERS}),
            "wordllama, a small model inside a package, or openai: a server that speaks as OpenAI's does.",
        ),
        "url": Key(SERVER, "The server's address up to its version; /embeddings is put after it."),
        "model": Key(Text(needs="the name of a model"), "The model that the server is asked for."),
        "secret": Key(
            SECRET_NAME, "Where the server's key is kept with the secrets, as connector/key; without it, none."
        ),
    },
    _build_language,
)
