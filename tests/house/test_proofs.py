"""Proof types: what a step hands to the next is made in that step's own file, and elsewhere only passed on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import callgate

SOURCE = Path(callgate.__file__).resolve().parent
MADE_IN = {
    "Resolved": "pipeline/resolve.py",
    "Valid": "pipeline/validate.py",
    "Authorized": "pipeline/authorize.py",
    "Recalled": "pipeline/recall.py",
    "Passed": "pipeline/gate.py",
    "Permit": "pipeline/claim.py",
    "Executed": "pipeline/execute.py",
}
COPIES = frozenset({"replace", "copy", "deepcopy"})
SPINE = "pipeline/pipeline.py"
ONLY_THERE = frozenset({"gate", "claim", "execute", "settle"})
"""Steps that only the spine takes: whoever takes one elsewhere makes a second way of a call."""


def made_elsewhere(source: str, file: str) -> list[str]:
    """What this file makes, or could make, of what another step has to prove."""
    tree = ast.parse(source)
    foreign = {name: proof for name, proof in names_of_proofs(tree).items() if MADE_IN[proof] != file}
    return [*named_in_code(tree, foreign), *copied(tree, foreign)]


def names_of_proofs(tree: ast.Module) -> dict[str, str]:
    """The names that stand for a proof type here: its own, and those it is imported under."""
    imported = (each for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names)
    others = {each.asname: each.name for each in imported if each.asname and each.name in MADE_IN}
    return {name: name for name in MADE_IN} | others


def named_in_code(tree: ast.Module, proofs: dict[str, str]) -> Iterator[str]:
    """Each use of a proof type but in a hint: there is no way to make one without naming it."""
    hints = {id(part) for hint in hints_in(tree) for part in ast.walk(hint)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in hints and last_name(node) in proofs:
            yield f"{node.lineno}: {proofs[last_name(node)]}"


def copied(tree: ast.Module, proofs: dict[str, str]) -> Iterator[str]:
    """Each copy of a proof that was handed in: with other fields it proves what never happened."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            given = {name: proof for name, proof in parameters(function) if proof in proofs}
            yield from (
                f"{node.lineno}: {proofs[given[node.args[0].id]]}"
                for node in ast.walk(function)
                if isinstance(node, ast.Call) and last_name(node.func) in COPIES
                if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in given
            )


def hints_in(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
    given = function.args
    for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
        if each.annotation is not None:
            yield each.arg, last_name(each.annotation)


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def test_only_its_own_step_makes_a_proof() -> None:
    made = {
        f"{file}:{place}"
        for path in sorted(SOURCE.rglob("*.py"))
        for file in [path.relative_to(SOURCE).as_posix()]
        for place in made_elsewhere(path.read_text(encoding="utf-8"), file)
    }
    assert made == set()


def steps_taken(source: str) -> set[str]:
    """Which of those steps this file takes from the file of the step."""
    imported = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return {each.name for node in imported for each in node.names if node.module == f"callgate.pipeline.{each.name}"}


def test_only_the_spine_takes_the_steps_from_the_gate_on() -> None:
    taken = {
        path.relative_to(SOURCE).as_posix(): steps
        for path in sorted(SOURCE.rglob("*.py"))
        if (steps := steps_taken(path.read_text(encoding="utf-8")) & ONLY_THERE)
    }
    assert taken == {SPINE: ONLY_THERE}


def test_only_two_files_write_a_row_of_the_ledger() -> None:
    """The claim makes it; every change goes with an event that has the digest of the row."""
    writers = {
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "put_attempt"
    }
    assert {file for file in writers if not file.startswith("stores/")} == {
        "pipeline/claim.py",
        "pipeline/row_change.py",
    }


@pytest.mark.parametrize("proof", MADE_IN)
def test_each_proof_is_really_made_where_this_says(proof: str) -> None:
    tree = ast.parse((SOURCE / MADE_IN[proof]).read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.Call) and last_name(node.func) == proof for node in ast.walk(tree))


@pytest.mark.parametrize("proof", MADE_IN)
@pytest.mark.parametrize(
    "planted",
    [
        "def shortcut(asked): return {0}(asked, None)",
        "def shortcut(asked): return pipeline.step.{0}(asked, None)",
        "from callgate.pipeline.step import {0} as Other\n\ndef shortcut(asked): return Other(asked, None)",
        "def shortcut(asked): return object.__new__({0})",
        "class Better({0}): ...",
        "make = {0}",
        "def widen(proof: {0}) -> {0}: return replace(proof, tool=None)",
        "async def widen(*, proof: step.{0}): return dataclasses.replace(proof, tool=None)",
        "def again(proof: {0}): return copy.copy(proof)",
    ],
)
def test_a_proof_made_elsewhere_is_found(proof: str, planted: str) -> None:
    source = planted.format(proof)
    assert [place.rpartition(" ")[2] for place in made_elsewhere(source, "pipeline/shortcut.py")] == [proof]
    assert made_elsewhere(source, MADE_IN[proof]) == []


@pytest.mark.parametrize("proof", MADE_IN)
def test_a_proof_that_is_only_passed_on_is_none_made(proof: str) -> None:
    passes = f"async def step(parts, proof: {proof} | None) -> {proof}:\n    kept: {proof} = proof\n    return kept"
    assert made_elsewhere(passes, "pipeline/shortcut.py") == []
