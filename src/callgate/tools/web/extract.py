"""Extract: the readable text of a page, in a process of its own.

Pages are written by strangers, and the libraries that read them are large: some pages keep them busy for minutes. So
they are read where they can be stopped, with bounded memory, without the environment. Knows nothing of networks.

Run as a program, with the seconds it may compute, it reads one page, UTF-8, from its input and writes
{"title": …, "content": …} as JSON.
"""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass

import orjson

from callgate.tools.web.troubles import AnswerUnfit

LARGEST_PAGE = 2 * 1024 * 1024
"""Bytes of HTML."""
_LARGEST_TEXT = 4 * LARGEST_PAGE
_MOST_MEMORY = 2 * 1024**3
MOST_SECONDS = 10
"""Of computing, for one page; most take a tenth of one."""
_NOT_READ = ["script", "style", "noscript", "template", "svg", "iframe", "head"]
_SPACE = re.compile(r"[^\S\n]+")
_GAPS = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says."""

    title: str | None
    content: str
    """Markdown."""


async def extract(html: str, *, seconds: int = MOST_SECONDS) -> Page:
    """Read a page. Stopped with the task that waits for it.

    Args:
        html: The page.
        seconds: Of computing that it may take.

    Raises:
        AnswerUnfit: It cannot be read.
    """
    # With -I neither the working directory nor the environment decides what is imported.
    words = [sys.executable, "-I", "-W", "ignore", "-m", "callgate.tools.web.extract", str(seconds)]
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *words, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env={}, start_new_session=True
    )
    try:
        written, _ = await child.communicate(html.encode("utf-8", "replace"))
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    try:
        told = orjson.loads(written)
    except orjson.JSONDecodeError:
        raise AnswerUnfit("the page cannot be read: it is too large, too deep, or takes its reader too long") from None
    return Page(title=told["title"], content=told["content"])


def read_page(html: str) -> Page:
    """The title and the readable text of a page, here and now."""
    import trafilatura  # noqa: PLC0415 - an extra
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415

    tree = LexborHTMLParser(html)
    heading = tree.css_first("title")
    title = _SPACE.sub(" ", heading.text().replace("\n", " ")).strip()[:500] if heading is not None else ""
    content = trafilatura.extract(
        html, output_format="markdown", include_links=True, include_tables=True, favor_recall=True
    )
    if not content:
        # No article in it: then what a person would see, without marks.
        tree.strip_tags(_NOT_READ)
        content = tree.body.text(separator="\n", strip=True) if tree.body is not None else ""
    return Page(title=title or None, content=_GAPS.sub("\n\n", content).strip()[:_LARGEST_TEXT])


def _bound(seconds: int) -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:  # pragma: no cover - Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """One page, from the input to the output."""
    _bound(int(sys.argv[1]))
    page = read_page(sys.stdin.buffer.read().decode("utf-8", "replace"))
    sys.stdout.buffer.write(orjson.dumps({"title": page.title, "content": page.content}))


if __name__ == "__main__":
    main()
