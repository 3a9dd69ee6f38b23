"""Paths: judged where they really lead, whatever they look like."""

import os
from pathlib import Path
from typing import Any

import pytest

from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.policy import resources
from callgate.policy.policy import Authorization
from callgate.settings.values import Family, Settings
from tests.policy.making import authorize, in_folder, make, reading, schema


def read_file(**facts: Any) -> Tool:
    body = {"scopes": {"fs:read"}, "input_schema": schema("path", "pattern", "cwd")}
    return reading("read_file", **{**body, **facts})


def write_file(**facts: Any) -> Tool:
    body = {"scopes": {"fs:write"}, "input_schema": schema("path")}
    return make("write_file", "modifies_files", **{**body, **facts})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a file, links out of it and into it, and a neighbour whose name starts alike."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    (tmp_path / "rootevil").mkdir()
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "file").write_text("x")
    (root / "out").symlink_to(outside)
    (root / "dangling").symlink_to(outside / "not there yet")
    (root / "in").symlink_to(root / "inner")
    (root / "inner" / "up").symlink_to("..")
    (root / "loop").symlink_to("loop")
    return root


def refused(found: Authorization) -> str:
    return "" if found.refusal is None else found.refusal.text


@pytest.mark.requirement("POL-22")
@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("file", "file"),
        (".", "."),
        ("", "."),
        ("{root}", "."),
        ("{root}/", "."),
        ("{root}/a", "a"),
        ("new/deep/x", "new/deep/x"),
        ("in/x", "inner/x"),
        ("inner/up/file", "file"),
        ("inner/../file", "file"),
        ("./././file", "file"),
        ("file/below-a-file", "file/below-a-file"),
        ("x~", "x~"),
        ("a..b", "a..b"),
        ("…", "…"),
    ],
)
def test_a_path_inside_the_root_is_admitted_and_resolved(root: Path, path: str, leads_to: str):
    found = authorize(in_folder(root), read_file(), {"path": path.format(root=root)})
    assert refused(found) == ""
    assert found.resources == (f"path:{os.path.normpath(root.resolve() / leads_to)}",)


@pytest.mark.requirement("POL-22")
@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "..",
        "../outside/secret",
        "{root}/../outside/secret",
        "{root}evil/x",
        "{root}evil",
        "inner/../../outside",
        "out",
        "out/secret",
        "out/new",
        "dangling",
        "inner/up/../x",
        "inner/up/out/secret",
        "out/../file",
        "/",
        "//etc/passwd",
        "/proc/self/cwd/../../../../../../etc/passwd",
    ],
)
def test_a_path_that_leads_outside_is_refused(root: Path, path: str):
    found = authorize(in_folder(root), read_file(), {"path": path.format(root=root)})
    assert "and fs allows" in refused(found)
    assert "scopes.fs.paths" in refused(found)
    assert found.refusal is not None
    assert found.refusal.code == "policy_denied"
    assert found.resources == ()


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("file\0.txt", "NUL"),
        ("x" * 5000, "at most 4096 characters"),
        ("x" * 300, "cannot be seen"),
        ("a\udc00\ud800", "cannot be seen"),
        ("~/x", "plain path"),
        ("~root", "plain path"),
        ("file:///etc/passwd", "plain path"),
        ("FILE:/etc/passwd", "plain path"),
        ("s3://bucket/key", "plain path"),
        ("loop", "leads to itself"),
        ("loop/x", "cannot be seen"),
    ],
)
def test_a_path_that_is_not_plain_is_refused(root: Path, path: str, why: str):
    assert why in refused(authorize(in_folder(root), read_file(), {"path": path}))


def test_a_link_before_dots_is_judged_both_as_the_system_and_as_a_tidy_tool_sees_it(root: Path):
    """The system goes to the link's target first; a tool that tidies the path never visits the link."""
    (root / "inner" / "out").symlink_to(root / "inner" / "deep")
    (root / "inner" / "deep").mkdir()
    policy = in_folder(root / "inner")
    assert refused(authorize(policy, read_file(), {"path": "out/../x"})) == ""
    (root / "inner" / "far").symlink_to(root / "far" / "away")
    (root / "far" / "away").mkdir(parents=True)
    assert "and fs allows" in refused(authorize(policy, read_file(), {"path": "far/../x"}))
    assert "and fs allows" in refused(authorize(policy, read_file(), {"path": "out/../../inner/out/../../x"}))


@pytest.mark.requirement("POL-23")
@pytest.mark.parametrize(
    ("name", "value", "admitted"),
    [
        ("pattern", "*.py", True),
        ("pattern", "in*/*.py", True),
        ("pattern", "**/*.py", False),
        ("pattern", "inner/*", True),
        ("pattern", "{root}/*.py", True),
        ("pattern", "../../etc/*", False),
        ("pattern", "*/../../etc/*", False),
        ("pattern", "{{..,x}}/etc/*", False),
        ("pattern", "inner/..", True),
        ("pattern", "/etc/*", False),
        ("pattern", "/*", False),
        ("pattern", "out/*", False),
        ("pattern", "out/sec[r]et", False),
        ("path", "out/*", False),
        ("path", "../*", False),
        ("path", "inner/*.py", True),
        ("path", "*/../../etc", False),
        ("cwd", "inner", True),
        ("cwd", "{root}/../../etc", False),
        ("cwd", "out", False),
    ],
)
def test_patterns_and_working_directories_are_followed_before_the_check(
    root: Path, name: str, value: str, admitted: bool
):
    for tool in (read_file(), make("run", "local_exec", scopes={"shell:execute"}, input_schema=schema(name))):
        found = authorize(in_folder(root), tool, {name: value.format(root=root)})
        assert (refused(found) == "") is admitted


@pytest.mark.parametrize("pattern", ["{a,b}" * 10, "{a,{b,c}}" * 6, "{" + "," * 512 + "}", "{a,}" * 33, "{" * 33])
def test_a_pattern_of_more_braces_than_can_be_looked_through_is_refused(root: Path, pattern: str):
    assert "too many braces; make several calls" in refused(
        authorize(in_folder(root), read_file(), {"pattern": pattern})
    )
    assert refused(authorize(in_folder(root), read_file(), {"pattern": "{a,b}" * 8})) == ""


@pytest.mark.parametrize("name", ["pattern", "path"])
def test_a_pattern_that_is_too_long_is_refused_before_its_braces_are_opened(root: Path, name: str):
    said = refused(authorize(in_folder(root), read_file(), {name: "{a,b}" * 8 + "{}" * 3000}))
    assert "a path has at most 4096 characters, this one 6040" in said


@pytest.mark.parametrize("pattern", ["@(/etc|x)/*", "+(x|/etc)/*", "?(~|x)/*", "{x,@(/etc)}/*"])
def test_a_pattern_that_starts_elsewhere_inside_brackets_is_refused(root: Path, pattern: str):
    said = refused(authorize(in_folder(root), read_file(), {"pattern": pattern}))
    assert "starts somewhere else inside brackets; make several calls of it" in said


@pytest.mark.parametrize("pattern", ["{x,/etc}/*", "{inner,{x,/etc}}/*", "x{,/../../etc}", "{{..,y},x}/*"])
def test_every_alternative_of_a_pattern_is_judged(root: Path, pattern: str):
    assert refused(authorize(in_folder(root), read_file(), {"pattern": pattern})) != ""
    assert refused(authorize(in_folder(root), read_file(), {"pattern": "{inner,{x,new}}/*"})) == ""


def test_the_resource_of_a_pattern_is_its_real_start_and_the_rest(root: Path):
    found = authorize(in_folder(root), read_file(), {"pattern": "in/*.py"})
    assert found.resources == (f"path:{root.resolve()}/inner/*.py",)


def test_a_relative_path_is_also_judged_inside_the_other_directories_of_the_call(root: Path):
    """`out` does not exist in the working directory, but in the directory the call names it is a link to outside."""
    (root / "inner" / "leak").symlink_to("/etc")
    policy = in_folder(root)
    assert refused(authorize(policy, read_file(), {"pattern": "leak/*"})) == ""
    assert "leads to '/etc'" in refused(authorize(policy, read_file(), {"path": "inner", "pattern": "leak/*"}))
    assert "leads to '/etc" in refused(authorize(policy, read_file(), {"cwd": "inner", "path": "leak/passwd"}))
    both = authorize(policy, read_file(), {"cwd": "inner", "path": "file"})
    assert both.resources == (f"path:{root.resolve()}/inner", f"path:{root.resolve()}/file")


def test_paths_that_would_take_too_long_to_follow_are_refused(root: Path):
    shape = schema("cwd", "root", "folder", "path", paths={"type": "array", "items": {"type": "string"}})
    tool, policy = read_file(input_schema=shape), in_folder(root)
    many = [f"f{number}" for number in range(900)]
    assert refused(authorize(policy, tool, {"paths": many, "cwd": "inner"})) == ""
    places = {"cwd": "a", "root": "b", "folder": "c", "path": "d"}
    assert "too many and too deep" in refused(authorize(policy, tool, {"paths": many, **places}))
    assert "too many and too deep" in refused(authorize(policy, tool, {"paths": ["a/" * 2000 + str(n) for n in many]}))
    assert refused(authorize(policy, tool, {"path": "a/" * 2000})) == ""


def test_every_path_that_is_refused_is_among_the_reasons(root: Path):
    found = authorize(in_folder(root), read_file(), {"path": "/etc/passwd", "cwd": "/root"})
    assert len(found.reasons) == 2
    assert [reason.text.split(":")[0] for reason in found.reasons] == ["argument path", "argument cwd"]


def test_relative_paths_resolve_in_the_working_directory_of_the_context(root: Path):
    policy = in_folder(root)
    context = Context(working_directory=str(root / "inner"))
    assert authorize(policy, read_file(), {"path": "x"}, context).resources == (f"path:{root.resolve()}/inner/x",)
    assert "and fs allows" in refused(authorize(policy, read_file(), {"path": "../file"}, context))
    relative = Context(working_directory="inner")
    assert authorize(policy, read_file(), {"path": "x"}, relative).resources == (f"path:{root.resolve()}/inner/x",)


def test_a_working_directory_stays_where_it_led_when_it_was_first_used(root: Path):
    policy = in_folder(root)
    (root / "work").mkdir()
    context = Context(working_directory="work")
    assert refused(authorize(policy, write_file(), {"path": "x"}, context)) == ""
    (root / "work").rmdir()
    (root / "work").symlink_to("inner")
    said = refused(authorize(policy, write_file(), {"path": "x"}, context))
    assert f"the working directory '{root}/work' led to '{root}/work' when it was first used" in said
    assert f"leads to '{root}/inner' now" in said
    with pytest.raises(PermissionError, match="when it was first used"):
        policy.grounds(write_file(), context)


def test_no_working_directory_leads_out_of_where_tools_may_write(root: Path):
    """Whoever may write there may put a link there, and would be granted what it leads to."""
    policy = in_folder(root)
    context = Context(working_directory="out")
    said = refused(authorize(policy, write_file(), {"path": "secret"}, context))
    assert f"the working directory '{root}/out' lies in '{root}', where tools may write" in said
    assert f"a link leads from it to '{root.parent}/outside'; name the directory itself" in said
    with pytest.raises(PermissionError, match="name the directory itself"):
        policy.grounds(write_file(), context)
    itself = Context(working_directory=str(root.parent / "outside"))
    assert refused(authorize(policy, write_file(), {"path": "secret"}, itself)) == ""


def test_a_granted_link_in_another_granted_directory_leads_nowhere(root: Path):
    """A tool that may write to the one could put the link anywhere, for the next start to follow."""
    policy = in_folder(root, families(fs=Family(paths=(".", "out"))))
    said = refused(authorize(policy, write_file(), {"path": "out/new"}))
    assert f"leads to '{root.parent}/outside/new', and fs allows '{root}'" in said
    assert f"'{root}/out' is a link in another granted directory, where tools could replace it" in said


def test_without_a_working_directory_the_process_has_one(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(root)
    policy = in_folder(None)  # pyright: ignore[reportArgumentType]
    assert authorize(policy, read_file(), {"path": "x"}).resources == (f"path:{root.resolve()}/x",)


def families(**named: Family) -> Settings:
    return Settings(families=named)


def test_a_family_says_where_its_tools_may_go(root: Path):
    home = Path("~").expanduser()
    settings = families(fs=Family(paths=("inner", str(root.parent / "outside"), "~/notes")))
    policy = in_folder(root, settings)
    for path in ("inner/x", "out/secret", str(root.parent / "outside"), str(home / "notes" / "a")):
        assert refused(authorize(policy, read_file(), {"path": path})) == "", path
    for path in ("file", ".", str(home)):
        assert "and fs allows" in refused(authorize(policy, read_file(), {"path": path})), path


def test_no_paths_at_all_is_nowhere_and_none_is_anywhere(root: Path):
    nowhere = in_folder(root, families(fs=Family(paths=())))
    assert "fs allows nothing" in refused(authorize(nowhere, read_file(), {"path": "file"}))
    anywhere = in_folder(root, families(fs=Family(paths=None)))
    assert refused(authorize(anywhere, read_file(), {"path": "/etc/passwd"})) == ""
    slash = in_folder(root, families(fs=Family(paths=("/",))))
    assert refused(authorize(slash, read_file(), {"path": "/etc/passwd"})) == ""


def test_every_family_of_the_tool_that_speaks_of_paths_must_agree(root: Path):
    settings = families(fs=Family(paths=(".",)), vault=Family(paths=("inner",)), mail=Family())
    policy = in_folder(root, settings)
    tool = read_file(scopes={"fs:read", "vault:read", "mail:send"})
    assert refused(authorize(policy, tool, {"path": "inner/x"})) == ""
    assert "and vault allows" in refused(authorize(policy, tool, {"path": "file"}))
    anyone = Context(scopes=frozenset({"*"}))
    everything = read_file(scopes={"*"})
    assert "and vault allows" in refused(authorize(policy, everything, {"path": "file"}, anyone))


def test_a_shell_tool_is_confined_by_the_family_of_files(root: Path):
    tool = make("run", "local_exec", scopes={"shell:execute"}, input_schema=schema("command", "cwd"))
    assert "and fs allows" in refused(authorize(in_folder(root), tool, {"command": "ls", "cwd": "/etc"}))


def test_a_root_that_becomes_a_link_later_leads_nowhere_new(root: Path):
    (root / "work").mkdir()
    policy = in_folder(root, families(fs=Family(paths=("work",))))
    assert refused(authorize(policy, read_file(), {"path": "work/x"})) == ""
    (root / "work").rmdir()
    (root / "work").symlink_to("/etc")
    assert "leads to '/etc/passwd'" in refused(authorize(policy, read_file(), {"path": "work/passwd"}))


def test_more_working_directories_than_are_remembered_are_still_judged(root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(resources, "MOST_GROUNDS", 8)
    policy = in_folder(root)
    for number in range(20):
        context = Context(working_directory=f"w{number}")
        assert authorize(policy, read_file(), {"path": "x"}, context).refusal is None


@pytest.mark.parametrize(
    "path", [".git", ".git/hooks/post-commit", "inner/.git/config", ".GIT/x", ".g\u200cit/x", "git~1"]
)
def test_git_is_read_only_to_tools(root: Path, path: str):
    policy = in_folder(root)
    assert "read-only to tools" in refused(authorize(policy, write_file(), {"path": path}))
    assert refused(authorize(policy, read_file(), {"path": path})) == ""


def test_git_behind_a_link_is_still_git(root: Path):
    (root / "repo" / ".git").mkdir(parents=True)
    (root / "alias").symlink_to(root / "repo" / ".git")
    (root / "other").mkdir()
    (root / "inner" / ".git").symlink_to(root / "other")
    policy = in_folder(root)
    assert "read-only to tools" in refused(authorize(policy, write_file(), {"path": "alias/config"}))
    assert "read-only to tools" in refused(authorize(policy, write_file(), {"path": "inner/.git/config"}))


def test_what_a_git_link_or_file_leads_to_is_git_under_its_own_name(root: Path):
    (root / "meta" / "hooks").mkdir(parents=True)
    (root / ".git").symlink_to("meta")
    for path in ("meta", "meta/hooks/pre-commit", "meta/new/deep"):
        assert "read-only to tools" in refused(authorize(in_folder(root), write_file(), {"path": path})), path
    (root / "tree").mkdir()
    for said in ("gitdir: own\n", "gitdir:own", f"gitdir: {root}/tree/own\n", "gitdir: own\0what git does not read\n"):
        (root / "tree" / ".git").write_text(said)
        assert "read-only to tools" in refused(authorize(in_folder(root), write_file(), {"path": "tree/own/config"}))
        assert refused(authorize(in_folder(root), write_file(), {"path": "tree/owned"})) == ""
        assert refused(authorize(in_folder(root), read_file(), {"path": "tree/own/config"})) == ""
    (root / "tree" / ".git").unlink()
    os.mkfifo(root / "tree" / ".git")
    assert refused(authorize(in_folder(root), write_file(), {"path": "tree/own/config"})) == ""


@pytest.mark.parametrize("names", [("HEAD", "objects", "refs"), ("HEAD", "commondir")], ids=["bare", "worktree"])
def test_a_repository_of_any_name_is_read_only_to_tools(root: Path, names: tuple[str, ...]):
    (root / "bare").mkdir()
    for name in names[1:]:
        (root / "bare" / name).mkdir()
    assert refused(authorize(in_folder(root), write_file(), {"path": "bare/config"})) == ""
    (root / "bare" / "HEAD").write_text("ref: refs/heads/main\n")
    for path in ("bare", "bare/config", "bare/hooks/new"):
        assert "read-only to tools" in refused(authorize(in_folder(root), write_file(), {"path": path})), path
    opened = in_folder(root, families(fs=Family(paths=(".", "bare"))))
    assert refused(authorize(opened, write_file(), {"path": "bare/config"})) == ""
    assert "read-only to tools" in refused(authorize(in_folder(root / "bare"), write_file(), {"path": "config"}))


@pytest.mark.parametrize(
    ("there", "last"),
    [
        (("objects", "refs"), "HEAD"),
        (("objects", "refs"), "head."),
        (("HEAD", "objects"), "refs/heads/main"),
        (("HEAD", "refs"), "Objects"),
        (("HEAD",), "commondir"),
        (("commondir",), "HEAD"),
    ],
)
def test_the_last_name_of_a_repository_is_not_made(root: Path, there: tuple[str, ...], last: str):
    """Each name by itself is nobody's; who makes all of them decides what git starts."""
    made = root / "made"
    made.mkdir()
    assert refused(authorize(in_folder(root), write_file(), {"path": f"made/{last}"})) == ""
    for name in there:
        (made / name).mkdir()
        assert refused(authorize(in_folder(root), write_file(), {"path": f"made/{name}"})) == ""
    for path in (f"made/{last}", f"made/{last}/below"):
        said = refused(authorize(in_folder(root), write_file(), {"path": path}))
        assert f"would make '{made}' a git repository" in said
    assert refused(authorize(in_folder(root), write_file(), {"path": "made/HEADLINES"})) == ""
    assert refused(authorize(in_folder(root), write_file(), {"path": f"other/{last}"})) == ""
    assert refused(authorize(in_folder(root), read_file(), {"path": f"made/{last}"})) == ""


def test_in_a_git_that_is_listed_a_repository_is_completed(root: Path):
    modules = root / ".git" / "modules"
    (modules / "objects").mkdir(parents=True)
    (modules / "refs").mkdir()
    policy = in_folder(root, families(fs=Family(paths=(".", ".git/modules"))))
    assert refused(authorize(policy, write_file(), {"path": ".git/modules/HEAD"})) == ""


def test_what_leads_to_a_name_that_is_no_text_is_refused(root: Path):
    os.mkdir(os.fsencode(root) + b"/d\xfe")  # noqa: PTH102 - bytes
    os.symlink(b"d\xfe", os.fsencode(root) + b"/link")  # noqa: PTH211
    for asked in (read_file(), write_file()):
        for path in ("link", "link/new"):
            found = authorize(in_folder(root), asked, {"path": path})
            assert "no UTF-8" in refused(found)
            assert refused(found).encode()
            assert found.resources == ()


def test_a_git_that_is_listed_is_open_where_it_leads_to(root: Path):
    (root / "meta").mkdir()
    (root / ".git").write_text("gitdir: meta\n")
    policy = in_folder(root, families(fs=Family(paths=(".", ".git"))))
    assert refused(authorize(policy, write_file(), {"path": "meta/config"})) == ""


def test_git_is_opened_by_listing_it_among_the_paths(root: Path):
    policy = in_folder(root, families(fs=Family(paths=(".", ".git"))))
    assert refused(authorize(policy, write_file(), {"path": ".git/config"})) == ""
    assert "read-only to tools" in refused(authorize(policy, write_file(), {"path": "inner/.git/config"}))


def test_a_family_that_nobody_declared_opens_no_more_than_fs_does(root: Path):
    families = {"crm": Family(paths=("/",))}
    policy = in_folder(root, Settings(families=families))
    for scopes, opened in (({"crm:read"}, True), ({"crm:read", "other:read"}, False), ({"other:read"}, False)):
        found = authorize(policy, read_file(scopes=scopes), {"path": "/etc/passwd"})
        assert (found.refusal is None) is opened, scopes
