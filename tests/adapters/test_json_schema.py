"""Foreign schemas, kept as they are."""

import copy
from typing import Any

import pytest

from callgate.adapters.json_schema import compile_output, compile_schema
from callgate.errors import ConfigurationError, InvalidArguments

LIMIT = 1024 * 1024
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def validator(schema: dict[str, Any]) -> Any:
    return compile_schema(schema, limit=LIMIT).validator


def faults_of(schema: dict[str, Any], arguments: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(InvalidArguments) as caught:
        validator(schema)(arguments)
    return caught.value.faults


def properties(**parts: Any) -> dict[str, Any]:
    return {"type": "object", "properties": parts}


def chain(levels: int) -> dict[str, Any]:
    value: Any = {}
    for _ in range(levels):
        value = {"x": value}
    return value


def test_a_schema_stays_as_it_is_and_nobody_elses():
    schema = properties(x={"type": "string", "x-vendor": [1, {"y": None}]})
    given = copy.deepcopy(schema)
    compiled = compile_schema(given, limit=LIMIT)
    given["properties"]["x"]["type"] = "integer"
    assert compiled.schema == schema
    assert compiled.validator({"x": "text"}) == {"x": "text"}


@pytest.mark.requirement("SCH-09", "ERR-04")
def test_all_faults_are_told_at_once_in_the_same_words():
    schema = {
        **properties(
            url={"type": "string"},
            times={"type": "integer"},
            n={"type": ["integer", "null"]},
            mode={"enum": ["a", "b"]},
        ),
        "required": ["url"],
        "additionalProperties": False,
    }
    assert set(faults_of(schema, {"times": True, "x": 1, "n": "1", "mode": "c"})) == {
        "Missing required parameter: url",
        "Unknown parameter: x",
        "Invalid parameter: times must be an integer, not a boolean",
        "Invalid parameter: n must be null or an integer, not a string",
        "Invalid parameter: mode must be one of 'a', 'b'",
    }


@pytest.mark.parametrize(
    ("part", "value", "rule"),
    [
        ({"minimum": 3}, 1, "must be at least 3"),
        ({"maximum": 3}, 4, "must be at most 3"),
        ({"exclusiveMinimum": 3}, 3, "must be greater than 3"),
        ({"exclusiveMaximum": 3}, 3, "must be less than 3"),
        ({"multipleOf": 2}, 3, "must be a multiple of 2"),
        ({"minLength": 2}, "a", "must have at least 2 characters"),
        ({"maxLength": 2}, "abc", "must have at most 2 characters"),
        ({"pattern": "^a+$"}, "secret", "must match the pattern '^a+$'"),
        ({"minItems": 1}, [], "must have at least 1 items"),
        ({"maxItems": 1}, [1, 2], "must have at most 1 items"),
        ({"uniqueItems": True}, [1, 1], "must have no item twice"),
        ({"contains": {"type": "string"}}, [1], "lacks an item that must be there"),
        ({"const": "a"}, "b", "must be 'a'"),
        ({"not": {"type": "string"}}, "b", "has a form that is not allowed"),
        ({"minProperties": 1}, {}, "must have at least 1 properties"),
        ({"propertyNames": {"maxLength": 1}}, {"secret": 1}, "has a property whose name is not allowed"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "s", "must be an integer or null, not a string"),
        ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}, "abc", "must have at most 2 characters"),
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 5, "fits more than one of the allowed forms"),
        ({"oneOf": [{"type": "integer"}, {"type": "null"}]}, "s", "must be an integer or null, not a string"),
        ({"enum": list(range(30))}, "s", f"must be one of {', '.join(map(str, range(20)))}, …"),
        (False, 1, "is not allowed"),
        ({"type": "array", "items": {"type": "integer"}}, [1, "s"], None),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, None),
        ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False}, {"b": 1}, None),
        ({"if": {"type": "integer"}, "then": {"minimum": 5}}, 1, "must be at least 5"),
    ],
)
def test_rules_are_told_and_values_are_not(part: Any, value: Any, rule: str | None):
    faults = faults_of(properties(x=part), {"x": value})
    assert rule is None or faults == (f"Invalid parameter: x {rule}",)
    assert "secret" not in " ".join(faults)


def test_places_inside_are_named():
    schema = properties(a={"type": "array", "items": {"type": "object", "required": ["b"]}})
    assert faults_of(schema, {"a": [{"b": 1}, {}]}) == ("Missing required parameter: a[1].b",)


def test_faults_of_the_whole_are_told():
    assert faults_of({"type": "object", "minProperties": 1}, {}) == (
        "Invalid arguments: must have at least 1 properties",
    )


def test_a_flood_of_faults_is_cut():
    faults = faults_of(properties(a={"items": {"type": "integer"}}), {"a": ["s"] * 1000})
    assert len(faults) == 51
    assert faults[-1] == "and 1 more faults"


@pytest.mark.requirement("SCH-10")
def test_defaults_are_applied_at_the_top_and_inside():
    schema = properties(
        limit={"type": "integer", "default": 5},
        where={
            "type": "object",
            "properties": {"city": {"type": "string", "default": "Rome"}, "zip": {"type": "string"}},
        },
        empty={"type": "object", "default": {}, "properties": {"deep": {"default": [1]}}},
        rows={"type": "array", "items": {"type": "object", "properties": {"n": {"default": 0}}}},
    )
    validate = validator(schema)
    assert validate({}) == {"limit": 5, "empty": {"deep": [1]}}
    assert validate({"limit": 1, "where": {}, "rows": [{}, {"n": 2}], "empty": {"deep": 2}}) == {
        "limit": 1, "where": {"city": "Rome"}, "rows": [{"n": 0}, {"n": 2}], "empty": {"deep": 2},
    }  # fmt: skip
    validate({})["empty"]["deep"].append(2)
    assert validate({}) == {"limit": 5, "empty": {"deep": [1]}}


@pytest.mark.requirement("SCH-10")
def test_a_required_parameter_with_a_default_is_filled_in():
    assert validator({**properties(a={"type": "integer", "default": 1}), "required": ["a"]})({}) == {"a": 1}


def test_defaults_come_through_references_and_all_of_but_not_through_choices():
    schema = {
        "$defs": {
            "page": {"type": "object", "properties": {"size": {"default": 10}, "next": {"$ref": "#/$defs/page"}}}
        },
        "type": "object",
        "properties": {"page": {"$ref": "#/$defs/page"}, "x": {"anyOf": [{"properties": {"y": {"default": 1}}}]}},
        "allOf": [{"properties": {"z": {"default": "z"}}}],
    }
    assert validator(schema)({"page": {"next": {"next": {}}}, "x": {}}) == {
        "page": {"size": 10, "next": {"size": 10, "next": {"size": 10}}}, "x": {}, "z": "z",
    }  # fmt: skip


def test_a_default_that_does_not_fit_its_own_schema_is_not_used():
    schema = properties(
        a={"type": "string", "default": None}, b={"$ref": "#/$defs/b"}, c={"type": "integer", "default": 1}
    )
    schema["$defs"] = {"b": {"type": "string", "default": 3}}
    assert validator(schema)({}) == {"c": 1}


def test_parts_that_are_no_objects_give_no_defaults():
    schema = {**properties(a=True, b={"$ref": "#/allOf/0"}, c={"default": 1}), "allOf": [True, {"$ref": "#/allOf/1"}]}
    assert validator(schema)({}) == {"c": 1}


def test_no_default_is_taken_from_a_document_that_embeds_others():
    schema = properties(a={"default": 1}, b={"$id": "https://x.test/b", "type": "string"})
    assert validator(schema)({}) == {}


def test_mistyped_parts_are_no_trouble_for_defaults():
    schema = properties(a={"type": "object", "properties": {"b": {"default": 1}}})
    assert faults_of(schema, {"a": [1]}) == ("Invalid parameter: a must be an object, not an array",)


def test_the_draft_is_the_one_the_schema_names():
    old = {"$schema": DRAFT_7, **properties(a={"items": [{"type": "integer"}], "additionalItems": False})}
    assert validator(old)({"a": [1]}) == {"a": [1]}
    assert len(faults_of(old, {"a": [1, 2]})) == 1
    new = properties(a={"prefixItems": [{"type": "integer"}], "items": False})
    assert len(faults_of(new, {"a": [1, 2]})) == 1


@pytest.mark.parametrize("reference", ["#/$defs/a", "#part", "https://x.test/whole", "https://x.test/whole#/$defs/a"])
def test_references_inside_the_document_are_followed(reference: str):
    schema = {
        "$id": "https://x.test/whole",
        "$defs": {"a": {"$anchor": "part", "type": "object"}},
        **properties(x={"$ref": reference}),
    }
    assert validator(schema)({"x": {}}) == {"x": {}}
    assert faults_of(schema, {"x": 1})


@pytest.mark.parametrize(
    "reference", ["https://x.test/a.json", "http://localhost/", "file:///etc/passwd", "other.json", "//x.test"]
)
@pytest.mark.parametrize("key", ["$ref", "$dynamicRef"])
def test_a_reference_to_another_place_is_refused_and_nothing_is_fetched(reference: str, key: str):
    with pytest.raises(ConfigurationError, match="nothing is fetched"):
        compile_schema(properties(x={"items": {key: reference}}), limit=LIMIT)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, 'of type "object"'),
        ({"type": ["array", "null"]}, 'of type "object"'),
        ([], "a JSON object"),
        (True, "a JSON object"),
        ({"type": "objekt"}, "not valid|of type"),
        (properties(a={"type": "nonsense"}), "not valid"),
        (properties(a={"$ref": "#/$defs/nowhere"}), "not valid"),
        (properties(a={"pattern": "("}), "not valid"),
        ({"$schema": "https://x.test/mine", "type": "object"}, "not valid"),
        ({"type": "object", "x": float("nan")}, "not JSON"),
        ({"type": "object", "description": "x" * 300_000}, "bytes"),
        (properties(**{"a\u200bb": {}}), "hidden characters"),
    ],
)
def test_what_is_no_schema_for_arguments_is_refused(schema: Any, words: str):
    with pytest.raises(ConfigurationError, match=words):
        compile_schema(schema, limit=LIMIT)


def test_a_schema_may_name_its_type_among_others_or_not_at_all():
    assert validator({"type": ["object", "null"]})({}) == {}
    assert validator({})({"a": 1}) == {"a": 1}


def test_hidden_characters_in_its_texts_are_shown():
    compiled = compile_schema(properties(a={"description": "do\u200bit", "title": "\u202ex"}), limit=LIMIT)
    assert compiled.schema["properties"]["a"] == {"description": "do<U+200B>it", "title": "<U+202E>x"}


def test_a_property_called_like_a_keyword_is_a_property():
    schema = properties(properties={"type": "integer"}, **{"$ref": {"type": "string"}, "default": {"default": 1}})
    assert validator(schema)({"properties": 1, "$ref": "https://x.test"}) == {
        "properties": 1, "$ref": "https://x.test", "default": 1,
    }  # fmt: skip


def test_an_output_is_held_against_its_schema():
    schema, check = compile_output({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}})
    assert schema["required"] == ["n"]
    assert check({"n": 1}) is None
    assert check({"n": "secret"}) == "Invalid output: n must be an integer, not a string"
    assert check({}) == "Missing required output: n"
    assert check([]) == "Invalid output: must be an object, not an array"
    assert check({"n": object()}) == "returned dict, which is not JSON"
    assert compile_output({"type": "string"})[1]("text") is None


class TestHostile:
    def test_a_deep_schema_is_refused(self):
        schema: dict[str, Any] = {"type": "object"}
        for _ in range(70):
            schema = {"type": "object", "not": schema}
        with pytest.raises(ConfigurationError, match="deeper"):
            compile_schema(schema, limit=LIMIT)

    def test_a_schema_that_unfolds_without_end_is_refused(self):
        parts: dict[str, Any] = {"a0": {"type": "string"}}
        for n in range(1, 40):
            parts[f"a{n}"] = {"allOf": [{"$ref": f"#/$defs/a{n - 1}"}, {"$ref": f"#/$defs/a{n - 1}"}]}
        with pytest.raises(ConfigurationError, match="unfolds"):
            compile_schema({**properties(x={"$ref": "#/$defs/a39"}), "$defs": parts}, limit=LIMIT)

    def test_a_long_chain_of_references_is_refused(self):
        parts: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(3000)}
        parts["a3000"] = {}
        with pytest.raises(ConfigurationError, match="follow one another"):
            compile_schema({**properties(x={"$ref": "#/$defs/a0"}), "$defs": parts}, limit=LIMIT)

    @pytest.mark.parametrize(
        "schema", [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"properties": {"x": {"$ref": "#"}}}]
    )
    def test_a_schema_that_contains_itself_ends(self, schema: dict[str, Any]):
        assert validator(schema)({"x": {"x": {}}}) == {"x": {"x": {}}}

    @pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?=a)(a+)+\\1$", "(x+x+)+y"])
    def test_a_hostile_pattern_answers_in_time(self, pattern: str):
        schema = properties(x={"type": "string", "pattern": pattern})
        assert len(faults_of(schema, {"x": "a" * 20_000 + "!" + "x" * 20_000})) == 1

    def test_a_pattern_that_would_fill_the_memory_is_refused(self):
        with pytest.raises(ConfigurationError, match="not valid"):
            compile_schema(properties(x={"pattern": "((a{1000}){1000}){1000}"}), limit=LIMIT)

    def test_faults_of_choices_within_choices_are_told_only_where_they_can_be_counted(self):
        node = {"$ref": "#/$defs/n"}
        branches = [{"properties": {"x": node}, "required": [name]} for name in ("q", "r")]
        schema = {**properties(x=node), "$defs": {"n": {"anyOf": [*branches, {"type": "integer"}]}}}
        shallow, deep = chain(3), chain(90)
        assert len(faults_of(schema, shallow)) > 1
        assert faults_of(schema, deep) == ("The arguments do not fit the schema, and are too deep to say where",)
        assert compile_output(schema)[1](deep) == "does not fit its schema"

    def test_many_references_are_looked_up_quickly(self):
        parts = {f"a{n}": {"$anchor": f"n{n}"} for n in range(1500)}
        refs = {f"p{n}": {"$ref": f"#n{n}"} for n in range(1500)}
        assert validator({**properties(**refs), "$defs": parts})({"p1": 1}) == {"p1": 1}
