"""lint_python and lint_code: what ruff finds, mends and may not touch. TOOL-10."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Previewed
from callgate.model.levels import Autonomy, Category, Happened
from callgate.tools.code import ruff, sites
from callgate.tools.code.alone import alone
from tests.tools.code.test_git_status import do
from tests.tools.examples import run_examples

FREE = Context(autonomy=Autonomy.A4)


async def lint(code: str, **more: Any) -> Any:
    async with Callgate.open("memory://", builtin_tools=["lint_python"]) as gate:
        return await gate.call("lint_python", {"code": code, **more})


async def lint_path(place: Path, **arguments: Any) -> Any:
    async with Callgate.open("memory://", working_directory=place, builtin_tools=["lint_code"]) as gate:
        return await gate.call("lint_code", arguments, FREE)


def open_default(place: Path) -> Callgate:
    """As Callgate is without settings; ruff looks for one kind of mistake."""
    (place / "ruff.toml").write_text('[lint]\nselect = ["F401"]\n')
    return Callgate.open("memory://", working_directory=place, builtin_tools=["lint_code"])


async def test_clean_code_has_no_issues() -> None:
    """TOOL-10."""
    assert (await lint("print(1)\n")).unwrap() == {"issues": [], "fixed_code": None, "summary": "no issues"}


async def test_an_error_of_syntax_is_an_issue_with_its_line() -> None:
    """TOOL-10."""
    found = (await lint("x = 1\ndef f(:\n    pass\n")).unwrap()
    assert 2 in [issue["line"] for issue in found["issues"]]
    assert "issue" in found["summary"]


async def test_what_can_be_mended_is_given_back_mended() -> None:
    """TOOL-10: fix gives fixed_code."""
    found = (await lint("import os\nprint(undefined)\n", fix=True)).unwrap()
    assert {"F401", "F821"} <= {issue["code"] for issue in found["issues"]}
    assert found["fixed_code"] == "print(undefined)\n"


async def test_a_text_is_judged_by_no_settings_of_any_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ruff.toml").write_text('[lint]\nignore = ["F401"]\n')
    monkeypatch.chdir(tmp_path)
    assert "F401" in str((await lint("import os\n")).unwrap())
    assert (await lint("x" * 1_000_001)).error.code == "invalid_arguments"


DEEP = {
    "signs": "import os\nx = " + "-" * 100_000 + "1\n",
    "words": "import os\nx = " + "not " * 200_000 + "1\n",
    "names": "import os\nx = a" + ".b" * 400_000 + "\n",
    "sums": "import os\nx = " + "1+" * 400_000 + "1\n",
}


@pytest.mark.parametrize("way", DEEP)
async def test_code_that_ends_ruff_has_not_been_looked_at(way: str) -> None:
    """Such an end is no answer: neither that there are no issues, nor that nothing is left of the code."""
    for fix in (False, True):
        outcome = await lint(DEEP[way], fix=fix)
        assert outcome.status == "failed", outcome
        assert "nested too deep, or take it more than 512 MiB" in outcome.error.message


@pytest.mark.slow
def test_a_text_takes_ruff_no_more_memory_than_it_is_given() -> None:
    """As the system counts it, in a process that starts nothing else. These 40 KB would take gigabytes."""
    host = """
import asyncio, resource
from tests.tools.code.test_lint import lint
print(asyncio.run(lint("a=" * 20_000 + "1")).error.message)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
    ran = subprocess.run([sys.executable, "-c", host], capture_output=True, text=True, timeout=100, check=True)
    *told, mib = ran.stdout.splitlines()
    assert "take it more than 512 MiB" in told[0]
    assert int(mib) < 600


async def test_what_is_told_of_a_text_is_bounded() -> None:
    """An issue on every line: some are listed, and all are counted as far as ruff comes to tell them."""
    found = (await lint("import os\n" * 300)).unwrap()
    assert (len(found["issues"]), found["summary"]) == (
        200,
        "301 issues, 301 of them can be mended; the first 200 are listed",
    )
    much = (await lint("wrong\n" * 60_000, fix=True)).unwrap()
    assert len(much["issues"]) == 200
    assert much["summary"].startswith("more than ")
    assert much["fixed_code"] == "wrong\n" * 60_000


async def test_more_mended_code_than_can_be_told_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruff, "_MOST_OUTPUT", 50)
    refused = await lint("print(1)\n" * 20, fix=True)
    assert "too much of the code" in refused.error.message


@pytest.mark.usefixtures("bubblewrap")
class TestFiles:
    """lint_code."""

    async def test_files_are_judged_by_their_projects_settings(self, tmp_path: Path) -> None:
        (tmp_path / "ruff.toml").write_text('[lint]\nselect = ["F401"]\n')
        (tmp_path / "a.py").write_text("import os\nprint(undefined)\n")
        found = (await lint_path(tmp_path, path=".")).unwrap()
        assert (found["success"], found["issue_count"], found["exit_code"]) == (False, 1, 1)
        assert found["issues"][0]["file"] == f"{tmp_path}/a.py"
        assert "a.py:1:8: F401" in found["output"]
        assert (tmp_path / "a.py").read_text().startswith("import os")
        other = (await lint_path(tmp_path, path="a.py", select=["F821"], ignore=["F401"])).unwrap()
        assert [issue["code"] for issue in other["issues"]] == ["F821"]

    async def test_what_can_be_mended_is_mended_in_the_file(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\nprint(1)\n")
        (tmp_path / "b.py").write_text("import os\nprint(1)\n")
        found = (await lint_path(tmp_path, path="a.py", fix=True, select=["F401"])).unwrap()
        assert found["success"]
        assert ((tmp_path / "a.py").read_text(), (tmp_path / "b.py").read_text()[:9]) == ("print(1)\n", "import os")

    async def test_no_setting_of_a_project_leads_out_of_it(self, tmp_path: Path) -> None:
        outside, place = tmp_path / "outside", tmp_path / "work"
        for folder in (outside, place):
            folder.mkdir()
        (outside / "secret.toml").write_text("canary-of-a-secret = [\n")
        (outside / "b.py").write_text("import os\n")
        (place / "link").symlink_to(outside)
        (place / "ruff.toml").write_text(f'cache-dir = "{outside}/cache"\nextend = "{outside}/secret.toml"\n')
        assert "canary" not in str(await lint_path(place, path="."))
        (place / "ruff.toml").write_text(f'cache-dir = "{outside}/cache"\n')
        await lint_path(place, path=".", fix=True, select=["F"])
        assert (outside / "b.py").read_text() == "import os\n"
        assert sorted(path.name for path in outside.iterdir()) == ["b.py", "secret.toml"]

    async def test_neither_git_nor_our_files_are_mended(self, tmp_path: Path) -> None:
        do(tmp_path, "init", "-q")
        hook = tmp_path / ".git" / "hooks" / "a.py"
        hook.write_text("import os\n")
        (tmp_path / "ruff.toml").write_text("exclude = []\n")
        await lint_path(tmp_path, path=".", fix=True, select=["F"])
        assert hook.read_text() == "import os\n"
        refused = await lint_path(tmp_path, path=".git/hooks/a.py", fix=True)
        assert ".git" in str(refused)

    async def test_what_is_not_there_or_cannot_be_read_is_told(self, tmp_path: Path) -> None:
        absent = await lint_path(tmp_path, path="absent.py")
        assert absent.error.category is Category.USER_INPUT
        assert "leads to" in str(await lint_path(tmp_path, path="/etc"))
        assert (await lint_path(tmp_path, path=".", select=["--config=x"])).error.code == "invalid_arguments"
        (tmp_path / "ruff.toml").write_text("nonsense = 1\n")
        assert "ruff could not look" in str(await lint_path(tmp_path, path="."))

    async def test_a_file_that_ends_ruff_has_not_been_looked_at(self, tmp_path: Path) -> None:
        (tmp_path / "deep.py").write_text(DEEP["signs"])
        outcome = await lint_path(tmp_path, path="deep.py", fix=True)
        assert outcome.status not in {"succeeded", "replayed"}
        assert "ruff could not look at" in outcome.error.message
        assert (tmp_path / "deep.py").read_text() == DEEP["signs"]

    @pytest.mark.parametrize(("many", "listed", "cut"), [(50, 50, False), (51, 50, True), (2000, 50, True)])
    async def test_what_is_told_of_files_is_bounded(self, many: int, listed: int, cut: bool, tmp_path: Path) -> None:
        """All issues are counted, 50 are listed, and as many are told in words as fit."""
        (tmp_path / "a.py").write_text("wrong\n" * many)
        found = (await lint_path(tmp_path, path="a.py", select=["F821"])).unwrap()
        assert (found["issue_count"], len(found["issues"]), found["truncated"]) == (many, listed, cut)
        assert len(found["output"].splitlines()) == many or len(found["output"]) == 20_000

    async def test_of_more_than_can_be_read_of_ruff_as_much_is_told_as_was_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("wrong\n" * 30_000)
        told = (await lint_path(tmp_path, path="a.py", select=["F821", "B018"])).unwrap()
        assert told["truncated"]
        assert 1_000 < told["issue_count"] < 60_000
        assert f"there are more than these {told['issue_count']}" in told["output"]
        assert len(told["issues"]) == 50

    async def test_what_was_mended_is_told_where_more_is_left_than_can_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\n" + "wrong\n" * 30_000)
        told = (await lint_path(tmp_path, path="a.py", fix=True, select=["F821", "F401"])).unwrap()
        assert told["truncated"]
        assert (tmp_path / "a.py").read_text() == "wrong\n" * 30_000

    async def test_more_than_can_be_shown_of_a_difference_is_not_mended(self, tmp_path: Path) -> None:
        content = f"import os\n{'x' * 8_000} = 1\n"
        for number in range(600):
            (tmp_path / f"a{number}.py").write_text(content)
        outcome = await lint_path(tmp_path, path=".", fix=True, select=["F401"])
        assert outcome.status == "failed", outcome
        assert "mend fewer files at a time" in outcome.error.message
        assert (tmp_path / "a7.py").read_text() == content

    @pytest.mark.parametrize("setting", ["fix = true", "fix-only = true", "unsafe-fixes = true"])
    async def test_what_a_project_has_ruff_do_for_people_does_not_count(self, tmp_path: Path, setting: str) -> None:
        code = "import os\nprint(nothing)\ndef f():\n    x = g()\n"
        (tmp_path / "ruff.toml").write_text(f'{setting}\n[lint]\nselect = ["F"]\n')
        (tmp_path / "a.py").write_text(code)
        looked = (await lint_path(tmp_path, path=".")).unwrap()
        assert (looked["issue_count"], (tmp_path / "a.py").read_text()) == (4, code)
        mended = (await lint_path(tmp_path, path=".", fix=True)).unwrap()
        assert (mended["issue_count"], (tmp_path / "a.py").read_text()) == (3, code.removeprefix("import os\n"))

    @pytest.mark.parametrize("fix", [False, True])
    @pytest.mark.parametrize("path", ["docs", "a.py"])
    async def test_what_was_not_looked_at_is_not_told_as_clean(self, tmp_path: Path, path: str, fix: bool) -> None:
        (tmp_path / "ruff.toml").write_text('force-exclude = true\nexclude = ["a.py"]\n')
        (tmp_path / "a.py").write_text("import os\n")
        (tmp_path / "docs").mkdir()
        outcome = await lint_path(tmp_path, path=path, fix=fix)
        assert outcome.status == "failed", outcome
        assert "there is no Python file in" in outcome.error.message
        assert outcome.error.category is Category.USER_INPUT
        assert outcome.happened is Happened.NONE

    @pytest.mark.parametrize("before", ["", "a\nwarning: "])
    async def test_no_name_of_a_file_says_that_there_is_none(self, tmp_path: Path, before: str) -> None:
        name = f"{before}No Python files found under the given path(s)\n.py"
        (tmp_path / name).write_text("import os  # noqa: [\n")  # with what it cannot read ruff says the name
        assert (await lint_path(tmp_path, path=".", select=["F"])).unwrap()["issue_count"] == 1

    async def test_files_that_take_ruff_too_long_are_an_error_and_no_answer(self, tmp_path: Path) -> None:
        """It waits here for somebody to write; who only looked has left nothing behind, and may call again."""
        os.mkfifo(tmp_path / "a.py")
        outcome = await lint_path(tmp_path, path="a.py", timeout=1)
        assert outcome.status == "failed", outcome
        assert "ruff was stopped: the time limit of 1 seconds; give it fewer files" in outcome.error.message

    async def test_the_time_that_is_told_is_all_that_it_had(self, tmp_path: Path) -> None:
        """What is left after that is too little for another try, which would tell of that little."""
        os.mkfifo(tmp_path / "a.py")
        async with Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["lint_code"]) as gate:
            outcome = await gate.call("lint_code", {"path": "a.py"}, FREE, timeout=3)
        assert outcome.error is not None
        seconds = float(outcome.error.message.partition("the time limit of ")[2].partition(" seconds")[0])
        assert 0.5 < seconds <= 1
        assert not outcome.error.retryable

    async def test_a_chain_may_look_and_not_mend(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\n")
        async with Callgate.open("memory://", working_directory=tmp_path, builtin_tools=["lint_code"]) as gate:
            looked = await gate.chain('lint_code(path="a.py")', FREE)
            assert looked.ok
            mended = await gate.chain('lint_code(path="a.py", fix=True)', FREE)
            assert not mended.ok
        assert (tmp_path / "a.py").read_text() == "import os\n"

    async def test_a_preview_shows_every_line_that_would_be_changed(self, tmp_path: Path) -> None:
        """At A0, where nothing is changed; in the order of the files, whichever ruff has done first."""
        for number in range(20):
            (tmp_path / f"a{number:02}.py").write_text(f"import os\nimport sys\nprint(sys, {number})\n")
        (tmp_path / "kept.py").write_text("print(1)\n")
        async with open_default(tmp_path) as gate:
            asker = Context(autonomy=Autonomy.A0)
            shown = str(await gate.call("lint_code", {"path": ".", "fix": True}, asker))
            looked = str(await gate.call("lint_code", {"path": "."}, asker))
            nothing = str(await gate.call("lint_code", {"path": "kept.py", "fix": True}, asker))
        assert "would mend 20 files in . with ruff" in shown
        assert "--- a07.py\n+++ a07.py\n@@ -1,3 +1,2 @@\n-import os\n import sys\n print(sys, 7)\n" in shown
        named = [line for line in shown.splitlines() if line.startswith("+++ ")]
        assert named == sorted(named)
        assert "mend" not in looked
        assert "nothing there that it can mend safely" in nothing
        assert (tmp_path / "a00.py").read_text().startswith("import os")

    @pytest.mark.parametrize("fix", [False, True])
    async def test_nobody_is_asked_about_a_path_that_is_not_there(self, tmp_path: Path, fix: bool) -> None:
        async with open_default(tmp_path) as gate:
            refused: Any = await gate.call(
                "lint_code", {"path": "absent.py", "fix": fix}, Context(autonomy=Autonomy.A1)
            )
            assert (refused.status, refused.error.code) == ("refused", "invalid_arguments"), refused
            assert refused.error.message == f"path {tmp_path}/absent.py does not exist"
            assert await gate.approvals() == []

    @pytest.mark.parametrize("path", ["docs", "a.py"])
    async def test_nobody_is_asked_about_mending_where_ruff_finds_no_file(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "a.py").write_text("import os\n")
        (tmp_path / "docs").mkdir()
        async with open_default(tmp_path) as gate:
            (tmp_path / "ruff.toml").write_text('force-exclude = true\nexclude = ["a.py"]\n')
            refused: Any = await gate.call("lint_code", {"path": path, "fix": True})
            assert (refused.status, refused.error.code) == ("refused", "invalid_arguments"), refused
            assert refused.error.message.startswith(f"there is no Python file in {tmp_path}/{path} that")
            assert await gate.approvals() == []

    async def test_a_preview_is_the_difference_and_nothing_that_ruff_says_beside_it(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\n")
        async with open_default(tmp_path) as gate:
            (tmp_path / "ruff.toml").write_text('show-fixes = true\noutput-format = "full"\n')
            shown = await gate.call("lint_code", {"path": "a.py", "fix": True}, Context(autonomy=Autonomy.A0))
        assert isinstance(shown, Previewed)
        assert shown.preview is not None
        assert shown.preview.text.splitlines()[1:] == ["--- a.py", "+++ a.py", "@@ -1 +0,0 @@", "-import os"]

    @pytest.mark.parametrize("path", ["shop", "shop/basket.py"])
    async def test_a_preview_names_files_as_the_working_directory_does(self, tmp_path: Path, path: str) -> None:
        (tmp_path / "shop").mkdir()
        (tmp_path / "shop" / "basket.py").write_text("import os\n")
        async with open_default(tmp_path) as gate:
            shown = str(await gate.call("lint_code", {"path": path, "fix": True}, Context(autonomy=Autonomy.A0)))
        assert "--- shop/basket.py\n+++ shop/basket.py\n@@ " in shown

    async def test_who_only_looks_is_never_asked_and_who_mends_is_as_for_other_writing(self, tmp_path: Path) -> None:
        """By default, which is A2."""
        (tmp_path / "a.py").write_text("import os\nprint(1)\n")
        async with open_default(tmp_path) as gate:
            assert (await gate.call("lint_code", {"path": "."})).unwrap()["issue_count"] == 1
            mending: Any = await gate.call("lint_code", {"path": ".", "fix": True})
            assert mending.status == "pending"
            assert (tmp_path / "a.py").read_text() == "import os\nprint(1)\n"
            shown: Any = (await gate.approval(mending.approval_id)).preview
            assert "-import os\n print(1)\n" in shown["text"]
            await gate.approve(mending.approval_id, by="ann")
            assert (await gate.resume(mending.approval_id)).unwrap()["success"]
        assert (tmp_path / "a.py").read_text() == "print(1)\n"

    async def test_what_is_another_callgates_is_neither_shown_nor_mended(self, tmp_path: Path) -> None:
        store = tmp_path / "sub" / ".callgate" / "plugins"
        store.mkdir(parents=True)
        (store / "p.py").write_text("import os\n")
        (tmp_path / "sub" / "a.py").write_text("import os\n")
        async with open_default(tmp_path) as gate:
            mending: Any = await gate.call("lint_code", {"path": "sub", "fix": True})
            shown: Any = (await gate.approval(mending.approval_id)).preview
            assert "--- sub/a.py" in shown["text"]
            assert "p.py" not in shown["text"]
            await gate.approve(mending.approval_id, by="ann")
            assert (await gate.resume(mending.approval_id)).unwrap()["success"]
        assert ((tmp_path / "sub" / "a.py").read_text(), (store / "p.py").read_text()) == ("", "import os\n")

    async def test_a_yes_is_for_the_changes_that_were_shown(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("import os\nprint(1)\n")
        async with open_default(tmp_path) as gate:
            mending: Any = await gate.call("lint_code", {"path": ".", "fix": True})
            await gate.approve(mending.approval_id, by="ann")
            (tmp_path / "b.py").write_text("import sys\n")
            again = await gate.resume(mending.approval_id)
        assert again.error is not None
        assert again.error.code == "approval_void"
        assert (tmp_path / "b.py").read_text() == "import sys\n"

    async def test_what_changes_right_before_it_is_mended_is_not_mended_by_an_older_yes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.py").write_text("import os\nprint(1)\n")
        turns_taken = 0

        @asynccontextmanager
        async def taken(*, until: float | None) -> AsyncGenerator[None]:
            nonlocal turns_taken
            turns_taken += 1
            async with alone(until=until):
                if turns_taken == 2:  # the first is that of the preview, when the approval is used
                    (tmp_path / "b.py").write_text("import sys\n")
                yield

        async with open_default(tmp_path) as gate:
            mending: Any = await gate.call("lint_code", {"path": ".", "fix": True})
            await gate.approve(mending.approval_id, by="ann")
            monkeypatch.setattr(sites, "alone", taken)
            outcome = await gate.resume(mending.approval_id)
        assert outcome.status == "failed", outcome
        assert "is not what was approved; ask again" in str(outcome)
        assert (tmp_path / "a.py").read_text() == "import os\nprint(1)\n"

    async def test_changes_that_cannot_be_seen_are_told_as_that(self, tmp_path: Path) -> None:
        (tmp_path / "deep.py").write_text(DEEP["signs"])
        async with open_default(tmp_path) as gate:
            asker = Context(autonomy=Autonomy.A0)
            shown = str(await gate.call("lint_code", {"path": ".", "fix": True}, asker))
        assert "would mend what ruff can mend safely" in shown
        assert "could not be seen: ruff could not look at" in shown

    async def test_the_examples_run(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("print(1)\n")
        async with Callgate.open(
            "memory://", working_directory=tmp_path, builtin_tools=["lint_code", "lint_python"]
        ) as gate:
            await run_examples(gate, "lint_code", "lint_python")
