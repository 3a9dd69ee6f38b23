"""YAML is read strictly: what reads differently from how it looks is refused, by line and key."""

import pytest

from callgate.settings.values import Settings
from tests.settings.reading import FILE, complaint_of, complaints_of, error_of, read


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n", "---\n...\n", "{}"])
def test_an_empty_file_means_the_defaults(text: str):
    assert read(text) == Settings(file=FILE)


@pytest.mark.parametrize("text", ["~", "null", "hello", "[]", "- autonomy: A2", '""', "5"])
def test_a_file_that_is_no_mapping_is_refused(text: str):
    assert complaint_of(text) == "1: needs a mapping with keys such as version, store, autonomy"


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "n", "Yes", "NO", "True", "FALSE"])
@pytest.mark.parametrize("key", ["require_keys", "autonomy", "store"])
def test_only_true_and_false_are_truth_values(key: str, word: str):
    heard = complaint_of(f"{key}: {word}")
    assert heard.startswith(f"1: {key}: '{word}': could be a truth value or a word; write true or false")


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("12:30", "some readers take it for a number; put it in quotes"),
        ("1:30:00", "some readers take it for a number"),
        ("2026-01-31", "some readers take it for a date; put it in quotes"),
        ("2026-01-31T10:00:00Z", "some readers take it for a date"),
        ("2026-1-3 10:00:00", "some readers take it for a date"),
        ("010", "could be octal"),
        ("0o10", "write it in decimal"),
        ("0x1F", "write it in decimal"),
        ("0b11", "write it in decimal"),
        ("1_000", "write it as 1000"),
        ("+5", "write it as 1000"),
        (".5", "write it as 1000 or 0.5"),
        ("5.", "write it as 1000 or 0.5"),
        ("1e3", "without an exponent"),
        ("1.0e+3", "without an exponent"),
        (".inf", "not a finite number"),
        ("-.INF", "not a finite number"),
        (".nan", "not a finite number"),
        ("=", "a meaning of its own"),
        ("~", "no value; write one"),
        ("null", "no value; write one"),
        ("12345678901234567890", "at most 15 digits"),
    ],
)
@pytest.mark.parametrize("key", ["timeout", "autonomy", "threads_per_connector", "require_keys"])
def test_values_that_readers_disagree_about_are_refused_with_what_to_write(key: str, written: str, advice: str):
    heard = complaint_of(f"\n{key}: {written}")
    assert heard.startswith(f"2: {key}: ")
    assert advice in heard


@pytest.mark.parametrize(
    "text", ["timeout:", "timeout: # soon", "timeout: {a: ", "roles:\n  a:\nautonomy: A1", "modules: [,]"]
)
def test_a_key_without_a_value_is_refused(text: str):
    assert complaints_of(text)


def test_an_empty_value_says_to_leave_the_key_out():
    assert complaint_of("timeout:\nautonomy: A1") == "1: timeout: has no value; write one, or leave the key out"
    assert complaint_of('store: ""') == "1: store: is empty; needs a store"
    assert complaint_of("roles: {a: }") == "1: roles.a: needs a mapping with keys such as scopes, autonomy, allow"


def test_in_quotes_the_same_words_are_text():
    settings = read('timeouts: {users: {"no": 5, "12:30": 6, "010": 7, "~": 8}}')
    assert settings.user_timeouts == {"no": 5, "12:30": 6, "010": 7, "~": 8}


@pytest.mark.parametrize("key", ["1", "1.5", "true", "no", "y", "~", "null", "12:30", "2026-01-31", "010", ".inf"])
def test_a_key_that_is_not_text_is_refused(key: str):
    assert complaint_of(f"timeouts: {{users: {{{key}: 5}}}}") == (
        f"1: timeouts.users: key '{key}' is not text; put it in quotes"
    )


@pytest.mark.parametrize("key", ["? [a]\n: 1", "? {a: 1}\n: 1", "[a, b]: 1"])
def test_a_list_or_mapping_as_a_key_is_refused(key: str):
    assert complaint_of(key) == "1: a list or a mapping cannot be a key; a key is text"


@pytest.mark.parametrize("key", ['""', "?", '" "', "''"])
def test_an_empty_key_is_refused(key: str):
    assert complaint_of(f"{key}\n: 1" if key == "?" else f"{key}: 1") == "1: a key is empty; a key is a word"


def test_a_key_given_twice_is_refused_with_both_lines():
    text = """\
    autonomy: A1
    roles:
      a: {allow: [x]}
      "a": {allow: [y]}
    autonomy: A4
    """
    assert complaints_of(text) == [
        "4: roles.a: is given twice, first on line 3; keep one",
        "5: autonomy: is given twice, first on line 1; keep one",
    ]


def test_anchors_aliases_and_merge_keys_are_refused_with_the_reason():
    text = """\
    roles:
      a: &a {allow: [x]}
      b: *a
      c: {<<: *a}
    """
    assert complaints_of(text) == [
        "2: roles.a: anchors (&name) are not read: a value must be seen where it counts; write it out",
        "3: roles.b: aliases (*name) are not followed: a value must be seen where it counts; write it out",
        "4: roles.c: merge keys (<<) are not followed: a value must be seen where it counts; write it out",
        "4: roles.c.'?': aliases (*name) are not followed: a value must be seen where it counts; write it out",
    ]


@pytest.mark.parametrize("name", ["*a", "&a a", "!!str a"])
def test_keys_have_no_marks_either(name: str):
    assert "are not" in complaints_of(f"autonomy: A1\n{name} : 2")[0]


@pytest.mark.parametrize("tag", ["!!str", "!!python/object/apply:os.system", "!secret", "!", "!<tag:x>"])
def test_tags_are_refused_and_nothing_is_made_of_them(tag: str):
    assert complaints_of(f"store: {tag} 'memory://'") == ["1: store: tags (!name) are not read; remove the tag"]


@pytest.mark.parametrize("directive", ["%YAML 1.1", "%TAG ! tag:example.com,2000:"])
def test_directives_are_refused(directive: str):
    assert "directives (%YAML, %TAG) are not read" in complaints_of(f"{directive}\n---\nautonomy: A1")[0]


def test_several_documents_are_refused():
    assert complaint_of("autonomy: A1\n---\nautonomy: A4") == (
        "2: a second document starts; a configuration is one document"
    )


def test_a_tab_as_indentation_is_refused_at_its_line():
    assert complaint_of("roles:\n\ta: {}\n") == "2: is indented with a tab; indent with spaces"
    assert complaint_of("autonomy:\tA1") == "1: has a tab where only spaces may be"


def test_hidden_characters_are_refused_also_when_they_are_escaped():
    assert complaint_of("# \u202e\nautonomy: A1") == "1: has the hidden character U+202E; remove it"
    assert complaint_of("autonomy: A1 # \u3164") == "1: has the hidden character U+3164; remove it"
    assert complaint_of("autonomy: A1\nstore: a\0b") == "2: has the hidden character U+0000; remove it"
    assert (
        complaint_of('autonomy: A1\nmodules: ["a\\u200bb"]')
        == "2: modules[0]: has the hidden character U+200B; remove it"
    )
    assert complaint_of('modules: ["\\0"]') == "1: modules[0]: has the hidden character U+0000; remove it"
    assert complaint_of('"auto\\u2066nomy": A1') == "1: has the hidden character U+2066; remove it"


def test_a_byte_order_mark_is_refused():
    assert complaint_of("\ufeffautonomy: A1") == (
        "1: starts with a byte order mark (BOM); save the file as UTF-8 without one"
    )


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_before_it_is_read(opening: str):
    assert "is nested more than 20 deep" in complaints_of("roles:\n  " + opening * 50_000)[-1]


def test_nesting_twenty_deep_is_only_wrong_for_its_keys():
    assert "needs a list" in complaint_of("modules: " + "{a: " * 19 + "1" + "}" * 19)
    assert "nested" in complaint_of("modules: " + "{a: " * 20 + "1" + "}" * 20)


def test_a_text_over_one_mebibyte_is_refused():
    assert str(error_of("#" * (1024 * 1024 + 1))) == f"{FILE}: is larger than 1 MiB, which no configuration is"
    assert str(error_of("# é" * 400_000)) == f"{FILE}: is larger than 1 MiB, which no configuration is"


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("a: b: c", "1: has a colon where none may be; put text that contains ': ' in quotes"),
        ("roles: [a", "1: is not YAML: expected ',' or ']', but got '<stream end>'"),
        ("x: 1\nstore: 'memory", "2: is not YAML: found unexpected end of stream"),
        ('store: "\\q"', "1: is not YAML: found unknown escape character 'q'"),
        ('store: "\\U00110000"', "1: is not YAML: an escape or a directive here cannot be read"),
        ('store: "\\UFFFFFFFF"', "1: is not YAML: an escape or a directive here cannot be read"),
        ("%YAML " + "9" * 5000 + ".1\n---\n", "1: is not YAML: an escape or a directive here cannot be read"),
        ("store: !hunter2!x y", "1: is not YAML: an unknown tag"),
        ("store: @x", "1: is not YAML: found character '@' that cannot start any token"),
    ],
)
def test_what_is_not_yaml_is_said_at_its_line(text: str, heard: str):
    assert complaints_of(text)[-1] == heard


def test_complaints_before_a_syntax_error_are_kept():
    heard = complaints_of("store: &a memory://\nroles: [")
    assert [line.partition(":")[0] for line in heard] == ["1", "2"]
