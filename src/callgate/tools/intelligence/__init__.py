"""Intelligence: finding one's way in a project's code by an index of its symbols, references and text."""

from callgate.tools.category import Category

_INDEX = (
    *("tree_sitter", "tree_sitter_c", "tree_sitter_cpp", "tree_sitter_go", "tree_sitter_java"),
    *("tree_sitter_javascript", "tree_sitter_python", "tree_sitter_ruby", "tree_sitter_rust", "tree_sitter_typescript"),
)

CATEGORY = Category(
    extra="intelligence",
    tools={
        "search_code": _INDEX,
        "find_definition": (*_INDEX, "jedi"),
        "find_references": (*_INDEX, "jedi"),
        "get_repo_map": _INDEX,
    },
)
