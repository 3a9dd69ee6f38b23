"""The keys of policy: scopes, the global layer, roles and rules."""

import pytest

from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.settings.values import DEFAULT_FAMILIES, Family, Role
from tests.settings.reading import complaint_of, complaints_of, read


def test_without_scopes_the_families_have_their_defaults():
    assert read("").families == DEFAULT_FAMILIES


def test_a_family_keeps_what_the_file_does_not_say():
    families = read("scopes: {fs: {requires_approval: true}, net: {private_addresses: true}}").families
    assert families["fs"] == Family(requires_approval=True, paths=(".",))
    assert families["net"] == Family(hosts=("*",), private_addresses=True)
    assert families["shell"] == DEFAULT_FAMILIES["shell"]


def test_a_family_has_paths():
    assert read("scopes: {fs: {paths: [., /srv/a b, ..]}}").families["fs"].paths == (".", "/srv/a b", "..")


@pytest.mark.parametrize(
    "host",
    ["*", "API.example.com", "*.x.org", "x.org:8443", "*.x.org:443", "10.0.0.1", "::1", "[::1]", "[FE80::1]:443"],
)
def test_a_family_has_hosts_in_small_letters(host: str):
    assert read(f"scopes: {{net: {{hosts: ['{host}']}}}}").families["net"].hosts == (host.lower(),)


@pytest.mark.parametrize(
    ("family", "heard"),
    [
        ("fs: {paths: [~/work]}", "1: scopes.fs.paths[0]: ~ and $ are not expanded in a path; write it out"),
        ("fs: {paths: [$HOME]}", "1: scopes.fs.paths[0]: ~ and $ are not expanded in a path; write it out"),
        ("fs: {paths: ['/srv/*']}", "1: scopes.fs.paths[0]: a path is a directory, and everything below it counts"),
        ("fs: {paths: /srv}", "1: scopes.fs.paths: needs a list; write [a, b]"),
        ("fs: {paths: ['']}", "1: scopes.fs.paths[0]: is empty; needs a directory"),
        ("fs: {paths: [[a]]}", "1: scopes.fs.paths[0]: needs a directory, not a list or a mapping"),
        ("fs: {path: [.]}", "1: scopes.fs.path: unknown key 'path'; did you mean paths?"),
        ("net: {hosts: ['https://a.com']}", "1: scopes.net.hosts[0]: 'https://a.com' is more than a host"),
        ("net: {hosts: ['a.com:99999']}", "1: scopes.net.hosts[0]: 'a.com:99999' is no host; write example.com"),
        ("net: {hosts: ['a.com:0']}", "1: scopes.net.hosts[0]: 'a.com:0' is no host"),
        ("net: {hosts: ['a.com:http']}", "1: scopes.net.hosts[0]: 'a.com:http' is no host"),
        ("net: {hosts: ['1::2::3']}", "1: scopes.net.hosts[0]: '1::2::3' is no host"),
        ("net: {hosts: ['[::1']}", "1: scopes.net.hosts[0]: '[::1' is no host"),
        ("net: {hosts: ['[1.2.3.4]']}", "1: scopes.net.hosts[0]: '[1.2.3.4]' is no host"),
        ("net: {hosts: ['me@a.com']}", "1: scopes.net.hosts[0]: 'me@a.com' is no host"),
        ("net: {hosts: [ex\u00e4mple.com]}", "1: scopes.net.hosts[0]: a host has letters of ASCII only"),
        ("net: {hosts: [a b]}", "1: scopes.net.hosts[0]: 'a b' is no host"),
        ("net: {private_addresses: 1}", "1: scopes.net.private_addresses: needs true or false, not '1'"),
        ("shel: {requires_approval: true}", "1: scopes.shel: unknown scope family 'shel'; did you mean shell?"),
        ("FS: {}", "1: scopes.FS: 'FS' is no scope family; one has small letters, digits and _"),
        ("shell: {custom: true}", "1: scopes.shell: the family shell exists already; leave custom out"),
        ("crm: {custom: false}", "1: scopes.crm: unknown scope family 'crm'; there are fs, net"),
    ],
)
def test_a_wrong_family_is_refused_naming_what_is_wrong(family: str, heard: str):
    assert complaint_of(f"scopes: {{{family}}}").startswith(heard)


def test_scopes_are_a_mapping():
    assert complaint_of("scopes: [fs]") == "1: scopes: needs a mapping with families such as fs, net, shell"


def test_a_family_of_ones_own_gives_scopes_to_roles():
    settings = read(
        "roles: {clerk: {scopes: ['crm:read', 'crm:*']}}\nscopes: {crm: {custom: true, requires_approval: true}}"
    )
    assert settings.families["crm"] == Family(requires_approval=True)
    assert settings.roles is not None
    assert settings.roles["clerk"].scopes == {"crm:read", "crm:*"}


@pytest.mark.parametrize(
    "scope", ["fs", "fs:", ":read", "fs:read:x", "FS:read", "fs:Read", "f s:read", "*:read", "fs:re*"]
)
def test_a_malformed_scope_is_refused(scope: str):
    assert "needs a scope such as fs:read, fs:* or *" in complaint_of(f"roles: {{a: {{scopes: ['{scope}']}}}}")


def test_a_scope_of_an_unknown_family_is_refused_with_the_nearest():
    heard = complaint_of("roles:\n  a:\n    scopes: ['fs:read', 'nett:outbound']")
    assert heard.startswith("3: roles.a.scopes[1]: unknown scope family 'nett'; did you mean net?")


def test_one_wrong_family_is_one_complaint_though_roles_use_it():
    heard = complaint_of("scopes: {crm: {custom: true, hosts: 5}}\nroles: {a: {scopes: ['crm:read']}}")
    assert heard.startswith("1: scopes.crm.hosts: needs a list")


def test_the_global_layer_is_read():
    text = """\
    global:
      allow: ["group:read", pay]
      deny: ["source:mcp"]
      max_autonomy: A3
      max_risk: high
      rules: [{match: pay, risk: high}]
    """
    assert read(text).global_layer == Layer(
        name="global",
        kind=LayerKind.GLOBAL,
        allow=("group:read", "pay"),
        deny=("source:mcp",),
        max_autonomy=Autonomy.A3,
        max_risk=Risk.HIGH,
        rules=(Rule(match="pay", risk=Risk.HIGH),),
    )


def test_an_absent_allow_inherits_and_an_empty_one_is_kept_as_empty():
    inherits, admits_nothing = read("global: {deny: []}").global_layer, read("global: {allow: []}").global_layer
    assert inherits is not None
    assert inherits.allow is None
    assert admits_nothing is not None
    assert admits_nothing.allow == ()


def test_without_roles_there_are_none_and_with_an_empty_mapping_none_exists():
    assert read("").roles is None
    assert read("roles: {}").roles == {}


def test_a_role_is_read_with_its_layer():
    text = "roles: {a: {scopes: ['*'], allow: ['*'], deny: [x], autonomy: A1, max_autonomy: A2, max_risk: low}}"
    assert read(text).roles == {
        "a": Role(
            name="a",
            scopes=frozenset({"*"}),
            autonomy=Autonomy.A1,
            layer=Layer(
                name="a",
                kind=LayerKind.ROLE,
                allow=("*",),
                deny=("x",),
                max_autonomy=Autonomy.A2,
                max_risk=Risk.LOW,
            ),
        )
    }


def test_a_role_that_says_nothing_has_no_scopes_and_no_allow():
    assert read("roles: {a: {}}").roles == {"a": Role(name="a", layer=Layer(name="a", kind=LayerKind.ROLE))}


def test_what_was_read_cannot_be_changed():
    settings = read("roles: {a: {}}\nscopes: {fs: {}}\ntimeouts: {tools: {a: 1}}")
    for mapping in (settings.roles, settings.families, settings.tool_timeouts, settings.user_timeouts):
        with pytest.raises(TypeError):
            mapping["b"] = None  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]


@pytest.mark.parametrize(
    ("role", "heard"),
    [
        ("a: {alow: [x]}", "1: roles.a.alow: unknown key 'alow'; did you mean allow?"),
        ("a: {Allow: [x]}", "1: roles.a.Allow: unknown key 'Allow'; did you mean allow?"),
        ("a: {max-autonomy: A1}", "1: roles.a.'max-autonomy': unknown key 'max-autonomy'; did you mean max_autonomy?"),
        ("a: {colour: red}", "1: roles.a.colour: unknown key 'colour'; there are scopes, autonomy, allow"),
        ("a: {allow: 'group:all'}", "1: roles.a.allow: needs a list"),
        ("a: {allow: [{a: b}]}", "1: roles.a.allow[0]: needs a tool name, a glob"),
        ("a: {allow: [5]}", "1: roles.a.allow[0]: needs a tool name, a glob"),
        ("a: {allow: ['a[b]']}", "1: roles.a.allow[0]: 'a[b]' has brackets; a glob knows * and ? only"),
        ("a: {deny: ['grp:x']}", "1: roles.a.deny[0]: unknown kind of selector 'grp'"),
        ("a: {autonomy: a2}", "1: roles.a.autonomy: 'a2' is not possible; did you mean A2?"),
        ("a: {max_risk: hihg}", "1: roles.a.max_risk: 'hihg' is not possible; did you mean high?"),
        ("a: {max_risk: 3}", "1: roles.a.max_risk: '3' is not possible; there are low, medium, high, critical"),
        ("a: {autonomy: A4, max_autonomy: A1}", "1: roles.a: autonomy A4 is above max_autonomy A1"),
        ("a: {limits: []}", "1: roles.a.limits: this version of Callgate does not have limits yet"),
        ("a: []", "1: roles.a: needs a mapping with keys such as scopes, autonomy, allow"),
        ("'a b': {}", "1: roles.'a b': 'a b' is no name of a role"),
    ],
)
def test_a_wrong_role_is_refused_naming_what_is_wrong(role: str, heard: str):
    assert complaint_of(f"roles: {{{role}}}").startswith(heard)


@pytest.mark.requirement("POL-07")
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("global: {allow: ['group:typo']}", "global.allow[0]"),
        ("global: {deny: ['group:typo']}", "global.deny[0]"),
        ("roles: {a: {allow: [x, 'group:typo']}}", "roles.a.allow[1]"),
        ("roles: {a: {deny: ['group:typo']}}", "roles.a.deny[0]"),
        ("global: {rules: [{match: 'group:typo', verdict: deny}]}", "global.rules[0].match"),
    ],
)
def test_an_unknown_group_is_refused_wherever_it_stands(text: str, key: str):
    assert complaint_of(text).startswith(f"1: {key}: unknown group 'typo'; there are all, code")


def test_a_rule_is_read_with_everything():
    text = """\
    global:
      rules:
        - match: "gmail.*"
          when: |
            args.amount > 100
            && args.to != ''
          verdict: confirm
          risk: critical
          by: two
          assurance: signed_in
          on_expiry: proceed
          why: "large: payment"
    """
    layer = read(text).global_layer
    assert layer is not None
    assert layer.rules == (
        Rule(
            match="gmail.*",
            when="args.amount > 100\n&& args.to != ''\n",
            verdict=Verdict.CONFIRM,
            risk=Risk.CRITICAL,
            by=ConfirmBy.TWO,
            assurance=Assurance.SIGNED_IN,
            on_expiry="proceed",
            why="large: payment",
        ),
    )


@pytest.mark.parametrize("verdict", ["confirm", "preview", "deny"])
def test_a_rule_may_tighten_to_any_verdict(verdict: str):
    layer = read(f"global: {{rules: [{{match: a, verdict: {verdict}}}]}}").global_layer
    assert layer is not None
    assert layer.rules[0].verdict is Verdict.parse(verdict)


@pytest.mark.parametrize(
    ("rule", "heard"),
    [
        ("{match: a, verdict: allow}", ".verdict: a rule never loosens, so its verdict is never allow"),
        ("{match: a, verdict: block}", ".verdict: 'block' is not possible; there are confirm, preview, deny"),
        ("{match: a, verdict: confirm+}", ".verdict: 'confirm+' is not possible; did you mean confirm?"),
        ("{match: a}", ": the rule asks for nothing; give it a verdict"),
        ("{match: a, when: x, why: so}", ": the rule asks for nothing; give it a verdict"),
        ("{verdict: deny}", ": lacks match"),
        ("{match: [a, b], verdict: deny}", ".match: needs a tool name, a glob"),
        ("{match: a, verdict: deny, by: two}", ": deny asks nobody, so by has no meaning here"),
        (
            "{match: a, verdict: preview, assurance: local, on_expiry: proceed}",
            ": preview asks nobody, so assurance, on_exp",
        ),
        ("{match: a, verdict: deny, when: ''}", ".when: is empty; needs a CEL condition"),
        ("{match: a, verdict: deny, when: '  '}", ".when: is empty; needs a CEL condition"),
        ("{match: a, verdict: deny, when: true}", ".when: needs a CEL condition; 'true' is none as it stands"),
        ("{match: a, verdict: deny, when: [x]}", ".when: needs a CEL condition, not a list or a mapping"),
        (f"{{match: a, verdict: deny, when: '{'x' * 4001}'}}", ".when: has 4001 characters; at most 4000 are possible"),
        ("{match: a, by: anyone}", ".by: 'anyone' is not possible; there are user, other, two"),
        ("{match: a, assurance: signed-in}", ".assurance: 'signed-in' is not possible; did you mean signed_in?"),
        ("{match: a, on_expiry: allow}", ".on_expiry: 'allow' is not possible; there are reject, proceed"),
        ("{match: a, verdict: deny, if: x}", ".if: unknown key 'if'; there are match, when"),
        ("deny", ": needs a mapping with keys such as match, when, verdict"),
    ],
)
def test_a_wrong_rule_is_refused_naming_what_is_wrong(rule: str, heard: str):
    assert complaint_of(f"roles: {{a: {{rules: [{rule}]}}}}").startswith(f"1: roles.a.rules[0]{heard}")
    assert complaints_of(f"global: {{rules: [{{match: a, risk: low}}, {rule}]}}")[0].startswith(
        f"1: global.rules[1]{heard}"
    )
