"""A tool that does something outside and is asked about first. It writes where an outbox would send."""

from pathlib import Path

from callgate import tool

OUTBOX = Path("outbox.txt")


@tool(effects="modifies_files", risk="medium", scopes=["fs:write"])
def send_invitation(to: str, text: str) -> str:
    """Send an invitation to somebody."""
    with OUTBOX.open("a", encoding="utf-8") as outbox:
        outbox.write(f"{to}: {text}\n")
    return f"invited {to}"
