"""YAML of a registry file as plain values: no object is made, no alias followed, and no key counts twice in silence."""

from __future__ import annotations

from typing import Any, cast

import yaml

from callgate.errors import ConfigurationError
from callgate.model.visible import brief


class _Loader(yaml.SafeLoader):
    """The safe loader without what makes a file read differently from how it looks."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType]
            problem = "aliases (*name) are not followed; write it out"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=cast("Any", self).peek_event().start_mark)
        return cast("Any", super()).compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - theirs
        seen: set[Any] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                problem = f"{brief(str(key.value))!r} is given twice; keep one"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str, *, file: str) -> Any:
    """What one document says.

    Raises:
        ConfigurationError: It is no YAML, or uses what is not read here; with its line.
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark
        line = None if mark is None else mark.line + 1
        raise ConfigurationError(f"is not YAML as it is read here: {error.problem}", file=file, line=line) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise ConfigurationError("is not YAML", file=file) from None
    except RecursionError:
        raise ConfigurationError("nests too deep", file=file) from None
