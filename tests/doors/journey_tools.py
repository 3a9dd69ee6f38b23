"""The tools of the journeys that every door makes; what they did is written outside of the gate."""

from pathlib import Path

from callgate import tool

DONE = Path("done.txt")
"""The witness: one line per effect."""


@tool(effects="read_only")
def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="system_state", risk="low")
def post(text: str) -> str:
    """Post a text; the line may break."""
    with DONE.open("a") as done:
        done.write(f"post {text}\n")
    if text.startswith("lost"):
        raise ConnectionResetError
    return f"posted {text}"


@tool(effects="system_state", risk="high")
def pay(amount: int) -> str:
    """Pay somebody."""
    with DONE.open("a") as done:
        done.write(f"pay {amount}\n")
    return f"paid {amount}"


@tool(effects="system_state", risk="low")
def wipe() -> str:
    """Wipe everything."""
    with DONE.open("a") as done:
        done.write("wipe\n")
    return "wiped"
