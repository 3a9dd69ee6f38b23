"""The repository's own rules: nothing of a machine in it, locks that pin, commands that exist, waits with a reason."""

import ast
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import callgate

ROOT = Path(__file__).resolve().parent.parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

LOCK_LINE = re.compile(
    r"[a-z0-9-]+==[\w.]+( ; [\w'.!=<> ]+)? \\"  # a version, perhaps for some platforms only
    r"|    --hash=sha256:[0-9a-f]{64}( \\)?"
    r"|(?!.*(://| /))( {4})?# [\w (),.;:\"/\[\]-]*",  # a comment: why the package is here
)

# Spelt in two halves so that this file keeps its own rule.
REGISTRY_HOSTS = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com", "yarnpkg" + ".com")


def tracked() -> list[Path]:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git work tree")
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def lines_with(words: tuple[str, ...]) -> Iterator[str]:
    for path in tracked():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), start=1):
            if any(word in line for word in words):
                yield f"{path.relative_to(ROOT)}:{number}"


def own_places() -> tuple[str, ...]:
    """Where this clone and its interpreter lie, unless that is a place anyone may name."""
    temporary = Path(tempfile.gettempdir()).resolve()
    places = (ROOT, Path(sys.prefix).resolve())
    return tuple(str(place) for place in places if len(place.parts) > 2 and not place.is_relative_to(temporary))


def test_no_file_names_a_package_registry():
    assert list(lines_with(REGISTRY_HOSTS)) == []


def test_no_file_names_the_place_of_this_clone():
    assert list(lines_with(own_places())) == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_has_versions_and_hashes_and_nothing_else(lock: Path):
    wrong = [line for line in lock.read_text(encoding="utf-8").splitlines() if not LOCK_LINE.fullmatch(line)]
    assert wrong == []


def test_the_lock_of_the_npm_servers_has_versions_and_hashes_and_no_address():
    folder = ROOT / "tests" / "adapters" / "mcp" / "npm"
    text = (folder / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text
    packages: dict[str, dict[str, str]] = json.loads(text)["packages"]
    wanted = packages.pop("")
    assert wanted["dependencies"] == json.loads((folder / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert all(package.get("integrity", "").startswith("sha512-") for package in packages.values())
    assert not any("resolved" in package for package in packages.values())


def locked(lock: Path) -> dict[str, str]:
    pins = re.findall(r"^([a-z0-9-]+)==(\S+)", lock.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(pins)


def declared(*, everything: bool) -> list[Requirement]:
    texts: list[str] = list(PROJECT["project"]["dependencies"])
    if everything:
        texts += PROJECT["dependency-groups"]["dev"]
        texts += [text for extra in PROJECT["project"]["optional-dependencies"].values() for text in extra]
    return [requirement for text in texts if (requirement := Requirement(text)).name != PROJECT["project"]["name"]]


@pytest.mark.parametrize(("lock", "everything"), [("core.txt", False), ("dev.txt", True)])
def test_every_dependency_is_locked_to_a_version_it_allows(lock: str, everything: bool):
    pins = locked(ROOT / "requirements" / lock)
    for requirement in declared(everything=everything):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), requirement


def test_both_locks_agree():
    core, everything = locked(ROOT / "requirements" / "core.txt"), locked(ROOT / "requirements" / "dev.txt")
    assert core.items() <= everything.items()


def test_the_extra_all_has_every_other_extra():
    extras = PROJECT["project"]["optional-dependencies"]
    assert Requirement(extras["all"][0]).extras == extras.keys() - {"all"}


def test_the_package_and_the_project_agree_on_the_version():
    assert callgate.__version__ == PROJECT["project"]["version"]


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_of_a_page_exists(page: str):
    path = ROOT / page
    if not path.exists():
        pytest.skip(f"there is no {page}")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^\s*)make ([a-z-]+)", path.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert named
    assert named <= targets


HEAVY = ("pydantic", "cryptography", "jsonschema_rs", "yaml", "sqlite3", "cel", "click")


@pytest.mark.parametrize(
    "names", ["import callgate", "from callgate import Callgate, Context", "from callgate import *"]
)
@pytest.mark.usefixtures("unmeasured")
def test_importing_loads_nothing_heavy(names: str):
    """What takes long to load is loaded where it is first needed; that importing is quick follows."""
    program = f"{names}; import sys; print(*(set({HEAVY!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []


def test_what_is_run_directly_is_executable():
    for script in [ROOT / ".ci" / "run", *(ROOT / "scripts").glob("*.sh")]:
        assert script.stat().st_mode & 0o100, script


def test_decision_records_have_each_their_number():
    records = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    assert all(re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name) for name in records), records
    assert len({name[:4] for name in records}) == len(records), records


def test_a_sleep_in_a_test_gives_its_reason_on_the_same_line():
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for source in [path.read_text(encoding="utf-8")]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and _sleeps(node, path)
        if "#" not in source.splitlines()[node.lineno - 1]
    ]
    assert bare == []


def _sleeps(call: ast.Call, path: Path) -> bool:
    """In the modules that tools and waits live in, awaiting is their work; a turn of the loop is no sleep."""
    name = ast.unparse(call.func)
    awaited = name == "asyncio.sleep" and path.name.startswith("test_")
    return name == "time.sleep" or (awaited and ast.unparse(call.args[0]) != "0")


STOPWATCHES = frozenset({"perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time", "timeit"})


def test_no_test_takes_the_time_of_what_it_runs():
    """How long something takes belongs to `make bench`; a test counts steps, or waits with a bound."""
    timed = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).rpartition(".")[2] in STOPWATCHES
    ]
    assert timed == []
