"""The tools that the compatibility tests speak of, each declared honestly."""

from typing import Any

from callgate.adapters.convert import convert
from callgate.model.tool import Tool


def make(name: str, **declaration: Any) -> Tool:
    async def nothing() -> None: ...

    return convert(nothing, name=name, **declaration)[0]


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        make("list_dir", effects="read_only", scopes="fs:read", category="file"),
        make("read_file", effects="read_only", scopes="fs:read", category="file"),
        make("search_files", effects="read_only", scopes="fs:read", category="file"),
        make("write_file", effects="modifies_files", scopes="fs:write", category="file", risk="medium"),
        make("edit_file", effects="modifies_files", scopes="fs:write", category="file", risk="medium"),
        make("run_shell", effects="local_exec", scopes="shell:execute", category="code"),
        make("raw_exec", effects="local_exec", scopes="shell:execute", category="code"),
        make("web_fetch", effects=["read_only", "network_access"], category="web"),
        make("http_post", effects="network_access", category="data", risk="medium"),
        make("calculate", effects="read_only", category="math"),
    )
}
