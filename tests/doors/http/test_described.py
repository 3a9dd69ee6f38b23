"""The API as it describes itself: every route is there, and nothing answers otherwise than it says."""

import asyncio
import json
import os
import re
from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks

from callgate.model.levels import Autonomy
from callgate.model.shapes import as_mapping
from callgate.settings.values import ServeSettings
from tests.doors.http.conftest import Served
from tests.doors.running import ROOT

_NAMES = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
_EXAMPLES = int(os.environ.get("CALLGATE_EXAMPLES", "8"))
"""Of each kind, for each route and each of the two who ask."""
_SEED = int(os.environ.get("CALLGATE_SEED", "7"))
"""The same requests every time, unless somebody looks for others."""
_TOO_LARGE = 413
_MADE_ANEW = frozenset({"call_id", "trace_id", "duration_ms", "approval_id", "expires_at"})
_PAGE = ROOT / "docs" / "api.md"
_PLACE = r"\{[^}]*\}"
_ENDLESS = "/api/v1/events/stream"
_MANY = ServeSettings(port=0, requests_per_second=100_000, requests_at_once=100_000)
_VERBS = {"get", "post", "put", "patch", "delete"}


async def _description(served: Served) -> dict[str, Any]:
    async with served.nobody() as nobody:
        return (await nobody.get("/openapi.json")).json()


async def test_every_route_says_what_it_answers_and_how_it_refuses(served: Served):
    described = await _description(served)
    operations = {
        f"{verb} {path}": item[verb] for path, item in described["paths"].items() for verb in _VERBS & set(item)
    }
    assert len(operations) > 40
    for name, operation in operations.items():
        answers = operation["responses"]
        assert operation["description"], name
        good = [answers[status] for status in answers if status.startswith("2")]
        assert good, name
        for answer in good:
            (content,) = answer["content"].values()
            assert content["schema"], name
        refused = [answer for status, answer in answers.items() if not status.startswith("2")]
        assert {*refused[0]["content"]} == {"application/problem+json"}
        assert "default" not in answers  # it would make any answer a described one
        if "/api/" in name:
            assert {"401", "403", "404", "409", "422", "429"} <= set(answers), name
            assert operation["security"] == [{"token": []}]
    assert "HTTPValidationError" not in described["components"]["schemas"]


async def test_the_page_documents_every_route(served: Served):
    text = re.sub(_PLACE, "{}", await asyncio.to_thread(_PAGE.read_text, encoding="utf-8"))
    described = await _description(served)
    for path, item in described["paths"].items():
        for verb in _VERBS & set(item):
            short = re.sub(_PLACE, "{}", path.removeprefix("/api/v1"))
            assert f"`{verb.upper()} {short}`" in text, f"docs/api.md lacks {verb.upper()} {path}"


async def test_the_answers_on_the_page_are_those_of_real_calls(served: Served):
    text = await asyncio.to_thread(_PAGE.read_text, encoding="utf-8")
    shown = [json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    asked = {"word_count": {"text": "a b"}, "pay": {"amount": 900}}
    assert [each["tool"] for each in shown] == [*asked]
    async with await served.agent() as agent:
        for told in shown:
            headers = {} if told["key"] is None else {"Idempotency-Key": told["key"]}
            body = {"tool": told["tool"], "arguments": asked[told["tool"]]}
            answer = (await agent.post("/api/v1/calls", json=body, headers=headers)).json()
            assert [*told] == [*answer]
            assert {name: answer[name] for name in told.keys() - _MADE_ANEW} == {
                name: told[name] for name in told.keys() - _MADE_ANEW
            }


async def _known(served: Served) -> dict[str, str]:
    """Ids of things that there are, by the name of the parameter that takes them."""
    async with await served.agent("fuzzer") as agent, await served.person("op") as op:
        pay = {"tool": "pay", "arguments": {"amount": 1}}
        question = (await agent.post("/api/v1/calls", json=pay)).json()
        await op.post(f"/api/v1/approvals/{question['approval_id']}/reject", json={"why": "no"})
    async with await served.agent("fuzzer", autonomy=Autonomy.A4) as agent, await served.person("ada") as op:
        lost = {"tool": "ship", "arguments": {"known": "cannot_tell"}}
        call = (await agent.post("/api/v1/calls", json=lost, headers={"Idempotency-Key": "k"})).json()
        grant = (await op.post("/api/v1/grants", json={"tool": "pay", "principal": "x"})).json()
        spare = (await op.post("/api/v1/credentials/agents", json={"name": "spare"})).json()
    return {
        "approval_id": question["approval_id"],
        "call_id": call["call_id"],
        "judgement_id": call["call_id"],
        "grant_id": grant["id"],
        "credential_id": spare["id"],
        "name": "word_count",
        "key": "k",
        "tool": "word_count",
    }


def _checks(names: Iterable[str]) -> Any:
    checks.load_all_checks()
    return cast("Any", checks).CHECKS.get_by_names(list(names))


def _is_meant(case: Any, answer: Any) -> bool:
    """Whether a refusal is asked for: what is empty is not sent, and that something is too large is one, too."""
    arrived = parse_qs(urlsplit(str(answer.request.url)).query, keep_blank_values=True)
    return answer.status_code != _TOO_LARGE and set(case.query or ()) <= set(arrived)


def _try(operation: Any, mode: GenerationMode, *, url: str, token: str, ids: dict[str, str]) -> int:
    """Send what fits the description, or what does not, and hold every answer to it; how many were sent."""
    sent, held_to, milder = 0, _checks(_NAMES), _checks(_NAMES[:-1])
    paths = {name: value for name, value in ids.items() if f"{{{name}}}" in operation.path}
    strategy = operation.as_strategy(generation_mode=mode, path_parameters=paths or None)

    @seed(_SEED)
    @settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(cast("Any", HealthCheck)),
    )
    @given(case=strategy)
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        body = as_mapping(case.body)
        if ids and body is not None and "tool" in body:
            case.body = {**body, "tool": ids["tool"], "context": {}, "arguments": {"text": "a b"}}
        answer = case.call(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        case.validate_response(answer, checks=held_to if _is_meant(case, answer) else milder)

    try:
        cast("Any", send)()
    except Unsatisfiable:
        # Nothing of this kind can be sent to this route.
        return 0
    return sent


def _try_all(described: dict[str, Any], *, url: str, tokens: list[str], known: dict[str, str]) -> int:
    sent, schema = 0, cast("Any", schemathesis.openapi.from_dict(described))
    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path == _ENDLESS:
            continue
        for token in tokens:
            for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
                sent += _try(operation, mode, url=url, token=token, ids={})
            if operation.body or "{" in operation.path:
                sent += _try(operation, GenerationMode.POSITIVE, url=url, token=token, ids=known)
    return sent


@pytest.mark.slow
async def test_nothing_answers_otherwise_than_described():
    async with Served.open(_MANY) as served:
        known = await _known(served)
        tokens = [
            (await served.gate.admit_agent("fuzzer", by="op"))[1],
            (await served.gate.admit_person("ada", by="op"))[1],
        ]
        described = await _description(served)
        sent = await asyncio.to_thread(_try_all, described, url=served.url, tokens=tokens, known=known)
        assert sent > 500
        assert served.paid == []
        assert (await served.gate.verify_audit()).ok
        async with httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60) as nobody:
            assert (await nobody.get("/readyz")).status_code == 200
