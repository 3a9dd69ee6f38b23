"""embed_text, similarity_search and classify_text with the model that needs no server. TOOL-14."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import orjson
import pytest

from callgate import Callgate, Context
from callgate.model.levels import Category, Effect
from callgate.tools.language.word_vectors import ModelMissing, embed_all, find_package, load_model
from tests.tools.examples import run_examples
from tests.tools.outbound.outcomes import category_of
from tests.tools.outbound.site import serving

ITEMS = ["The cat sleeps on the sofa.", "Shares fell sharply on Monday.", "My dog barks at the postman."]
LOOKING = """
import asyncio, json, sys
seen = []
sys.addaudithook(lambda name, _: name in ("socket.connect", "socket.getaddrinfo") and seen.append(name))
{doing}
print(json.dumps(seen))
"""
OURS = """
from callgate import Callgate
async def main():
    async with Callgate.open("memory://", builtin_tools=["language"]) as gate:
        assert len((await gate.call("embed_text", {"text": "hello"})).unwrap()) == 256
        assert (await gate.call("similarity_search", {"query": "a", "items": ["b", "c"]})).ok
        assert (await gate.call("classify_text", {"text": "a", "categories": ["b", "c"]})).ok
asyncio.run(main())
assert "wordllama" not in sys.modules
"""
THEIRS = """
import wordllama
try:
    wordllama.WordLlama.load()
except Exception:
    pass
"""


@pytest.fixture
async def gate() -> AsyncGenerator[Callgate]:
    async with Callgate.open("memory://", builtin_tools=["language"]) as opened:
        yield opened


async def test_a_vector_has_a_fixed_dimension_and_length_one_and_is_repeatable(gate: Callgate) -> None:
    """TOOL-14."""
    texts = ["cat", "The cat sat on the mat. " * 1000, "日本語のテキスト", "😀", "\x00\x01", "a" * 100_000]
    for text in texts:
        first = (await gate.call("embed_text", {"text": text})).unwrap()
        assert len(first) == 256
        assert math.isclose(math.hypot(*first), 1, abs_tol=1e-4)
        assert (await gate.call("embed_text", {"text": text})).unwrap() == first


async def test_another_process_makes_the_same_vector(gate: Callgate) -> None:
    """TOOL-14."""
    here = (await gate.call("embed_text", {"text": "repeatable"})).unwrap()
    code = (
        "from callgate.tools.language.word_vectors import embed_all;"
        "print([round(number, 7) for number in embed_all(['repeatable'])[0]])"
    )
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert orjson.loads(done.stdout) == here


async def test_calls_at_once_share_one_model_and_agree(gate: Callgate) -> None:
    outcomes = await asyncio.gather(*(gate.call("embed_text", {"text": f"text {at % 4}"}) for at in range(32)))
    vectors = [tuple(outcome.unwrap()) for outcome in outcomes]
    assert len(set(vectors)) == 4
    assert vectors[:4] == vectors[28:]


async def test_the_nearest_come_first_and_no_more_than_were_asked_for(gate: Callgate) -> None:
    """TOOL-14."""
    found = (await gate.call("similarity_search", {"query": "a kitten", "items": ITEMS, "top_k": 2})).unwrap()
    assert [(hit["index"], hit["item"]) for hit in found] == [(0, ITEMS[0]), (2, ITEMS[2])]
    assert found[0]["score"] > found[1]["score"]
    everything = (await gate.call("similarity_search", {"query": "a kitten", "items": ITEMS, "top_k": 50})).unwrap()
    assert [hit["index"] for hit in everything] == [0, 2, 1]
    many = {"query": "seven", "items": [f"number {at}" for at in range(40)]}
    assert len((await gate.call("similarity_search", many)).unwrap()) == 5


async def test_the_same_text_is_nearest_and_of_equals_the_first_comes_first(gate: Callgate) -> None:
    items = ["something else entirely", "the very same", "the very same"]
    found = (await gate.call("similarity_search", {"query": "the very same", "items": items})).unwrap()
    assert [hit["index"] for hit in found] == [1, 2, 0]
    assert found[0]["score"] == found[1]["score"] == 1


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("The striker scored twice in the final match", "sports"),
        ("Parliament passed the new tax law", "politics"),
        ("The new phone has a faster processor", "technology"),
        ("Simmer the sauce with garlic and tomatoes", "cooking"),
    ],
)
async def test_a_text_gets_one_of_the_categories_with_every_score(gate: Callgate, text: str, category: str) -> None:
    """TOOL-14."""
    categories = ["sports", "politics", "technology", "cooking"]
    told = (await gate.call("classify_text", {"text": text, "categories": categories})).unwrap()
    assert told["category"] == category
    assert list(told["scores"]) == categories
    assert told["confidence"] == told["scores"][category] == max(told["scores"].values())
    assert math.isclose(sum(told["scores"].values()), 1, abs_tol=1e-4)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("embed_text", {"text": ""}, "text"),
        ("embed_text", {"text": " \n "}, "text"),
        ("embed_text", {"text": "a" * 100_001}, "text"),
        ("embed_text", {"text": "\ud800"}, ""),
        ("similarity_search", {"query": "a", "items": []}, "items"),
        ("similarity_search", {"query": "a", "items": ["b", " "]}, "items[1] is empty"),
        ("similarity_search", {"query": " ", "items": ["b"]}, "query"),
        ("similarity_search", {"query": "a", "items": ["b"], "top_k": 0}, "top_k"),
        ("similarity_search", {"query": "a", "items": ["b"] * 1001}, "items"),
        ("similarity_search", {"query": "a", "items": ["b" * 20_001]}, "items"),
        ("classify_text", {"text": "a", "categories": []}, "categories"),
        ("classify_text", {"text": "a", "categories": ["b"]}, "categories"),
        ("classify_text", {"text": "a", "categories": ["b", "c", " B "]}, "categories has 'b' twice"),
        ("classify_text", {"text": "a", "categories": ["b", ""]}, "categories[1] is empty"),
        ("classify_text", {"text": "a", "categories": [f"c{at}" for at in range(101)]}, "categories"),
    ],
    ids=[
        *("no-text", "blank", "too-long", "half-a-character", "no-items", "blank-item", "blank-query", "none-wanted"),
        *("many-items", "long-item", "no-category", "one-category", "twice", "blank-category", "many-categories"),
    ],
)
async def test_what_cannot_be_is_an_input_error(
    gate: Callgate, tool: str, arguments: dict[str, Any], said: str
) -> None:
    outcome = await gate.call(tool, arguments)
    assert category_of(outcome) is Category.USER_INPUT
    assert said in str(outcome)


async def test_without_a_server_they_only_compute(gate: Callgate) -> None:
    for tool in gate.tools():
        assert tool.effects == {Effect.READ_ONLY}
        assert (tool.scopes, tool.egress, tool.untrusted_output) == ({"compute:run"}, False, False)
    assert not (await gate.call("embed_text", {"text": "a"}, Context(scopes=frozenset({"net:outbound"})))).ok
    assert (await gate.call("embed_text", {"text": "a"}, Context(scopes=frozenset({"compute:run"})))).ok


@pytest.mark.parametrize(("doing", "asks"), [(OURS, False), (THEIRS, True)], ids=["ours", "the-package-itself"])
async def test_nothing_is_ever_downloaded(tmp_path: Path, doing: str, asks: bool) -> None:
    """The witnesses are a hook on every connection, and a server that all that libraries fetch would go through.

    That they see something is shown by the package's own loader, which does download.
    """
    async with serving() as witness:
        through = witness.url("")
        around = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_ENDPOINT"), through)
        small = {name.lower(): through for name in around}
        environment = {**os.environ, **around, **small, "NO_PROXY": "", "no_proxy": "", "HOME": str(tmp_path)}
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", LOOKING.format(doing=doing)),
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            cwd=tmp_path,
        )
        written, _ = await child.communicate()
    assert child.returncode == 0
    assert bool(orjson.loads(written)) is asks
    assert bool(witness.asked) is asks
    assert files_below(tmp_path) == []


async def test_what_lies_in_the_working_directory_is_not_taken_for_the_model(gate: Callgate, tmp_path: Path) -> None:
    """The witness is a file that any of them would write if it were imported."""
    here = (await gate.call("embed_text", {"text": "hello"})).unwrap()
    lay_traps(tmp_path)
    code = (
        "import asyncio, json; from callgate import Callgate\n"
        "async def main():\n"
        "    async with Callgate.open('memory://', builtin_tools=['language']) as gate:\n"
        "        print(json.dumps((await gate.call('embed_text', {'text': 'hello'})).unwrap()))\n"
        "asyncio.run(main())"
    )
    words = [sys.executable, "-c", code]
    done = await asyncio.to_thread(subprocess.run, words, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert orjson.loads(done.stdout) == here
    assert trapped(tmp_path) == []


def lay_traps(folder: Path) -> None:
    for name in ("wordllama", "tokenizers", "safetensors"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(f"open('trapped-{name}', 'w').close()\n")


def trapped(folder: Path) -> list[Path]:
    return list(folder.glob("trapped-*"))


def files_below(folder: Path) -> list[Path]:
    return [found for found in folder.rglob("*") if found.is_file()]


def test_a_model_that_is_not_there_is_told_with_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelMissing, match=r"install callgate\[language\] again"):
        load_model(tmp_path)

    def nowhere(_name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", nowhere)
    with pytest.raises(ModelMissing, match="pip install"):
        find_package()


def test_a_text_without_words_has_no_vector() -> None:
    with pytest.raises(ValueError, match="no words"):
        embed_all(["one", ""])


async def test_the_examples_run(gate: Callgate) -> None:
    await run_examples(gate, "embed_text", "similarity_search", "classify_text")
