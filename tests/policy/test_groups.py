"""Groups: surely in for an allow, possibly in for a deny; foreign words never let anything in."""

import pytest

from callgate import Callgate, Context
from callgate.model.layer import Layer
from callgate.model.levels import Origin
from callgate.model.tool import Tool
from callgate.policy.groups import KEEPS_OUT, LETS_IN
from tests.policy.making import make, reading

UNKNOWN = make("unknown", [], scopes={"mail:send"})
SHELL = make("shell", "local_exec")
FILES = make("files", "modifies_files")
FETCH = reading("fetch", "network_access", category="web")
READ_FILE = reading("read_file", scopes={"fs:read"})


@pytest.mark.parametrize(
    ("group", "tool"),
    [
        ("read", READ_FILE),
        ("write", UNKNOWN),
        ("destructive", make("drop", destructive=True)),
        ("network", FETCH),
        ("network", make("send", scopes={"net:outbound"})),
        ("web", FETCH),
        ("code", READ_FILE),
        ("code", make("run", scopes={"shell:execute"})),
        ("code", reading("lint", category="code")),
        ("data", READ_FILE),
        ("data", reading("csv", category="data")),
        ("math", reading("add", category="math")),
        ("math", reading("add", category="maths")),
        ("files", FILES),
        ("shell", SHELL),
        ("llm", reading("embed", "calls_llm")),
        ("egress", make("send", egress=True)),
        ("untrusted", reading("mail", untrusted_output=True)),
        ("sensitive", reading("mail", sensitive_output=True)),
        ("idempotent", make("put", idempotent=True)),
        ("undeclared", make("bare", [], declared=False)),
    ],
)
def test_a_tool_is_let_in_and_kept_out_by_its_declaration(group: str, tool: Tool):
    assert LETS_IN[group](tool)
    assert KEEPS_OUT[group](tool)


@pytest.mark.parametrize("group", ["network", "web", "code", "files", "shell", "llm", "egress"])
def test_what_declares_no_effects_could_do_anything_and_surely_does_nothing(group: str):
    assert KEEPS_OUT[group](UNKNOWN)
    assert not LETS_IN[group](UNKNOWN)


@pytest.mark.parametrize("group", ["web", "code", "data", "math"])
@pytest.mark.parametrize("source", [Origin.MCP, Origin.LANGCHAIN, Origin.YAML, Origin.PLUGIN])
def test_what_a_foreign_tool_says_of_its_category_lets_it_in_nowhere(group: str, source: Origin):
    tool = reading("gh.tool", category=group, source=source)
    assert not LETS_IN[group](tool)
    assert KEEPS_OUT[group](tool)
    assert LETS_IN[group](reading("tool", category=group, source=Origin.FUNCTION))


@pytest.mark.parametrize("selector", ["group:math", "category:math", "category:maths"])
async def test_the_built_in_tools_of_mathematics_are_meant_by_each_word_for_them(selector: str):
    async with Callgate.open("memory://", builtin_tools=["maths", "data"]) as gate:
        kept_out = Context(layers=(Layer(name="no sums", deny=(selector,)),))
        refused = await gate.call("calculate", {"expression": "1 + 1"}, kept_out)
        let_in = Context(layers=(Layer(name="sums alone", allow=(selector,)),))
        ran = await gate.call("calculate", {"expression": "1 + 1"}, let_in)
        beside = await gate.call("json_parse", {"content": "[]"}, let_in)
    assert "no sums" in str(refused)
    assert ran.ok, ran
    assert "sums alone" in str(beside)


def test_denying_the_web_keeps_out_everything_on_the_network():
    assert KEEPS_OUT["web"](make("post", "network_access", category="mail"))


def test_denying_egress_keeps_out_effects_on_the_network_that_do_not_say_egress():
    assert KEEPS_OUT["egress"](make("post", "network_access"))
    assert not KEEPS_OUT["egress"](FETCH)


def test_denying_untrusted_keeps_out_everything_foreign():
    assert KEEPS_OUT["untrusted"](reading("gh.read", source=Origin.MCP))
    assert not KEEPS_OUT["untrusted"](READ_FILE)
