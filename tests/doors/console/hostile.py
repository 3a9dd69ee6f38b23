"""Hostile text, and what a browser would make of a page that shows it: read as HTML, not searched as text."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

MARK = "{{7*7}}"
HIDDEN = ("\u202e", "\u200b", "\u2066")
SCRIPT = f"</textarea><script>window.bad=1</script><img src=x onerror=window.bad=1>\"'>{MARK}"
HOSTILE = f"{SCRIPT}\u202egnp\u200b\u2066"
_TYPED_INTO = frozenset({"value", "content"})
_TEXT_FIELDS = frozenset({"text", "hidden", "password", "search"})


@dataclass
class Form:
    """A form as a page has it."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict[str, str])
    """Every field, with what stands in it."""
    texts: list[str] = field(default_factory=list[str])
    """Those that anything can be written into."""
    buttons: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Name and value of each button that has them."""


class Reader(HTMLParser):
    """Reads one page; `faults` is what a browser would run, or a person would not see as it is."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []
        self.forms: list[Form] = []
        self.shows = False
        """Whether the mark stands anywhere in it."""
        self._typing: str | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.faults.append(f"a script of its own: {given}")
        if tag in {"iframe", "object", "embed", "base", "style"}:
            self.faults.append(f"a {tag}")
        for name, value in given.items():
            self._look(tag, name, value)
        self._gather(tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._typing = None

    def handle_data(self, data: str) -> None:
        self.shows = self.shows or MARK in data
        if self._typing is not None:
            self.forms[-1].fields[self._typing] += data
        elif any(each in data for each in HIDDEN):
            self.faults.append(f"hidden characters in the text {data[:80]!r}")

    def _look(self, tag: str, name: str, value: str) -> None:
        self.shows = self.shows or MARK in value
        if name.startswith("on") or name == "style" or "javascript:" in value.lower():
            self.faults.append(f"{tag} {name}={value[:80]!r}")
        if name in {"src", "href", "action"} and not value.startswith(("/", "#", "data:image/", "http")):
            self.faults.append(f"{tag} {name}={value[:80]!r}")
        if name not in _TYPED_INTO and any(each in value for each in HIDDEN):
            self.faults.append(f"hidden characters in {tag} {name}")

    def _gather(self, tag: str, given: dict[str, str]) -> None:
        if tag == "form":
            self.forms.append(Form(given.get("method", "get"), given.get("action", "")))
        if not self.forms or "name" not in given:
            return
        form, name = self.forms[-1], given["name"]
        if tag == "button":
            form.buttons.append((name, given.get("value", "")))
        if tag in {"input", "textarea", "select"}:
            form.fields[name] = given.get("value", "")
            self._typing = name if tag == "textarea" else None
            if given.get("type", "text") in _TEXT_FIELDS:
                form.texts.append(name)
