"""The contracts of the tools that behaviour trees were first written for. Data; needs no tree library.

`query limit?` reads: the keys `query` and, where it is there, `limit`. Every leaf besides needs to know its user.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from callgate.flows.trees.contract import Condition, Contract, a_list, absent, equals, non_empty, present


def _contract(keys: str, writes: Mapping[str, str | None], *success: Condition) -> Contract:
    words = keys.split()
    return Contract(
        reads=tuple(word for word in words if not word.endswith("?")),
        may_read=tuple(word.removesuffix("?") for word in words if word.endswith("?")),
        writes=MappingProxyType(dict(writes)),
        success=success,
    )


_OK = equals("status", "ok")
_SUCCESS = equals("success", value=True)

CONTRACTS: Mapping[str, Contract] = MappingProxyType(
    {
        # Code
        "search_code": _contract(
            "query limit? language?", {"code_search_results": "results"}, a_list("results"), non_empty("results")
        ),
        "find_definition": _contract(
            "symbol scope? kind?", {"definition_result": None}, present("path"), present("line")
        ),
        "find_references": _contract("symbol limit?", {"references_result": None}, a_list("references")),
        "get_repo_map": _contract("scope? max_tokens?", {"repo_map": "map_text"}, non_empty("map_text")),
        # Vault
        "vault_read": _contract(
            "path project_id?", {"note_content": "content", "note_metadata": "metadata"}, present("content")
        ),
        "vault_write": _contract("path body title? project_id?", {"write_status": "status"}, _OK),
        "vault_search": _contract("query limit? project_id?", {"vault_search_results": "results"}, a_list("results")),
        "vault_list": _contract("folder? project_id?", {"vault_notes_list": "notes"}, a_list("notes")),
        "vault_move": _contract("old_path new_path project_id?", {"move_status": "status"}, _OK),
        "vault_create_index": _contract(
            "folder title? include_summaries? project_id?", {"index_status": "status", "index_path": "path"}, _OK
        ),
        # Threads
        "thread_push": _contract("thread_id content entry_type?", {"push_result": None}, _OK),
        "thread_read": _contract("thread_id limit?", {"thread_entries": "entries"}, absent("error")),
        "thread_seek": _contract("query limit? project_id?", {"thread_search_results": "results"}, a_list("results")),
        "thread_list": _contract("status? project_id?", {"threads_list": "threads"}, a_list("threads")),
        # Web
        "web_search": _contract("query limit?", {"web_search_results": "results"}, a_list("results")),
        "web_fetch": _contract("url max_tokens?", {"fetched_content": "content"}, non_empty("content")),
        # Meta
        "delegate_librarian": _contract(
            "task task_type? files? folder? content_items?", {"librarian_result": None}, _SUCCESS
        ),
        "notify_self": _contract("message priority? category? deliver_at?", {"notification_status": "status"}, _OK),
        # GitHub
        "github_read": _contract("repo path branch?", {"github_file_content": "content"}, _SUCCESS),
        "github_search": _contract(
            "query repo? language? limit?", {"github_search_results": "results"}, a_list("results")
        ),
        # Research
        "deep_research": _contract("query depth? save_to_vault? output_folder?", {"research_result": None}, _SUCCESS),
    }
)
