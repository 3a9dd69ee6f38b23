"""Aims: a pattern is held against paths in every sense that some tool gives it, and in no other that matters."""

import ctypes
import fnmatch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from callgate.policy import looks
from callgate.policy.aims import Aims
from callgate.policy.looks import Looks, TooMany

PATHS = (("callgate.yaml",), (".callgate", "callgate.db"), ("conf", "callgate.yaml"))
_LIBC = ctypes.CDLL(None)


def meets(text: str, *paths: tuple[str, ...], **ways: bool) -> bool:
    return Aims(paths or PATHS).met_by(text, looks=Looks(), **ways)


@pytest.mark.parametrize("text", ["co*.yaml", "conf?callgate.yaml", ".call*db", "[.]call*[a-d]b"])
def test_signs_stand_for_slashes_where_they_may(text: str):
    assert meets(text, over_slashes=True)
    assert not meets(text)


@pytest.mark.parametrize(
    "text",
    [
        "conf/callgate.ya?l",
        "conf//callgate.ya?l",
        "./conf/./callgate.ya?l/.",
        "**/callgate.ya?l",
        "conf/**/callgate.*",
        "con?/\\callgate.yaml",
        "[x[:alpha:]]allgate.yaml",
        "[x[=c=]]allgate.yaml",
        "[x\\]c]allgate.yaml",
        "[]c]allgate.yaml",
        "[!x]allgate.yaml",
        "@(callgate|x).yaml",
        "@(conf/callgate|x).yaml",
        "{c,x}{a,x}{l,x}{l,x}{g,x}{a,x}{t,x}{e,x}{.,x}yaml",
        "{x,{c,y}all{gate}}.yaml",
        "{a..c}allgate.yaml",
        "{.,x}/callgate.yaml",
        "{conf/,x}callgate.yaml",
        "[{c,x}]allgate.yaml",
        "{[,x}c]allgate.yaml",
        "{x[a,[c]}allgate.yaml",
        "CALL\u200bGATE.Y\uff41ML*",
    ],
)
def test_each_sign_means_the_most_that_it_means_to_any(text: str):
    assert meets(text)


@pytest.mark.parametrize(
    "text",
    ["dir{a}{b,c}/call*.yaml", "dir{a}{x,b,c}/call*.yaml", "dir{a}{b,c}/callgate.{yaml,txt}", "dir{a}\\{b,c\\}/call*"],
)
def test_braces_are_letters_where_a_shell_leaves_them_and_to_those_who_open_none(text: str):
    assert meets(text, ("dir{a}{b,c}", "callgate.yaml"), ("dir{a}x", "callgate.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        "*.txt",
        "**/db",
        "[0-9]*.yaml",
        "*/callgate.txt",
        "{a,b}callgate.yaml",
        "{x..z}.yaml/a",
        "callgate",
        "callgate.yaml?",
        "@(callgate.yaml",
        "+(x(callgate",
        "{callgate.yaml",
        "callgate}.yaml",
        "[callgate.yaml",
        "",
    ],
)
def test_what_no_tool_reads_so_is_not_met(text: str):
    assert not meets(text, anywhere=True, over_slashes=True)


def test_it_may_begin_in_any_directory_on_the_way():
    assert meets("callgate.d?", anywhere=True)
    assert not meets("callgate.d?")
    assert not meets("allgate.d?", anywhere=True)


@pytest.mark.parametrize("text", ["{c,x}" * 800, "[c" * 800])
def test_a_long_text_is_counted(text: str):
    few = Looks()
    few.count(looks.MOST_LOOKED_AT * looks.STEPS_A_NAME - 100)
    with pytest.raises(TooMany):
        Aims(PATHS).met_by(text, looks=few)


@given(
    st.text("ab.*?[]!^\\/-{},", max_size=9),
    st.lists(st.text("ab.{},", min_size=1, max_size=3).filter(lambda name: name.strip(".")), min_size=1, max_size=3),
)
@example("[a\\]b]", ["b"])
@example("*a", ["a", "a"])
@example("{a}*", ["{a}b"])
@example("{a,b}*", ["{a,b}b"])
def test_whatever_python_or_the_system_matches_is_met(text: str, names: list[str]):
    path = "/".join(names)
    by_system = _LIBC.fnmatch(text.encode(), path.encode(), 0) == 0
    if fnmatch.fnmatchcase(path, text) or by_system:
        assert meets(text, tuple(names), over_slashes=True)
    if _LIBC.fnmatch(text.encode(), path.encode(), 1) == 0:  # FNM_PATHNAME
        assert meets(text, tuple(names))
