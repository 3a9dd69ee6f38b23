"""Answers of HTTP servers, drawn at random: right ones in every way they can be written, and what is made of them."""

import itertools
from dataclasses import dataclass

from hypothesis import strategies as st

_TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
_FRAMING = frozenset(
    {"connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
)
_BODILESS = (204, 304)
STATUSES = (200, 201, 202, 204, 299, 301, 304, 400, 401, 403, 404, 418, 500, 503, 599, 999)


@dataclass(frozen=True, slots=True)
class Right:
    """An answer, and how it is written."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    wire: bytes
    ends_with_connection: bool
    lets_go_on: bool


names = st.text(_TOKEN, min_size=1, max_size=20).filter(lambda name: name.lower() not in _FRAMING)
values = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=60).map(str.encode) | st.sampled_from(
    [b"", b"a b", b"a\tb", b"caf\xe9", b"0", b"chunked", b"text/event-stream", b"application/json"]
)
headers = st.lists(st.tuples(names.map(str.encode), values), max_size=6)
blanks = st.sampled_from([b"", b" ", b"  ", b"\t"])
bodies = st.binary(max_size=300) | st.sampled_from([b"", b"HTTP/1.1 200 OK\r\n\r\n", b"0\r\n\r\n", b'{"a":1}', b"\r\n"])


def _behind(name: bytes) -> st.SearchStrategy[bytes]:
    """What may stand behind a value; a tab behind the encoding is refused, since the parser overlooks it then."""
    return st.sampled_from([b"", b" "]) if name.lower() == b"transfer-encoding" else blanks


@st.composite
def heads(draw: st.DrawFn, *, status: int, fields: list[tuple[bytes, bytes]], version: bytes = b"1.1") -> bytes:
    """The head of an answer: any case, any blanks, any reason."""
    reason = draw(st.sampled_from([b" OK", b" ", b" No such\tthing", b" caf\xe9"]))
    lines = [b"HTTP/%s %d%s" % (version, status, reason)]
    lines += [b"%s:%s%s%s" % (name, draw(blanks), value, draw(_behind(name))) for name, value in fields]
    return b"\r\n".join(lines) + b"\r\n\r\n"


@st.composite
def chunked(draw: st.DrawFn, body: bytes) -> bytes:
    """A body in chunks of any size, with what may stand beside them."""
    cuts = sorted(draw(st.sets(st.integers(0, len(body)), max_size=6)) | {0, len(body)})
    written = b""
    for first, end in itertools.pairwise(cuts):
        size = draw(st.sampled_from([b"%x", b"%X", b"000%x"])) % (end - first)
        extension = draw(st.sampled_from([b"", b";a", b";a=b", b';a="b c"']))
        written += size + extension + b"\r\n" + body[first:end] + b"\r\n"
    trailers = draw(st.sampled_from([b"", b"x-late: 1\r\n", b"mcp-session-id: forged\r\nx-late: 2\r\n"]))
    return written + b"0\r\n" + trailers + b"\r\n"


@st.composite
def right_answers(draw: st.DrawFn, *, keeps: bool | None = None) -> Right:
    """An answer that is right; with `keeps`, one after which another may come, or none."""
    status, fields, body = draw(st.sampled_from(STATUSES)), draw(headers), draw(bodies)
    framed = draw(st.sampled_from(["length", "chunks"] if keeps else ["length", "chunks", "end"]))
    closes = False if keeps else framed == "end" or keeps is False or draw(st.booleans())
    if status in _BODILESS:
        framed, body = "none", b""
    framing = {
        "length": [(draw(st.sampled_from([b"Content-Length", b"content-length"])), b"%d" % len(body))],
        "chunks": [(b"Transfer-Encoding", draw(st.sampled_from([b"chunked", b"Chunked"])))],
    }.get(framed, [])
    fields = [*fields, *framing, *([(b"Connection", b"close")] if closes else [])]
    early = b"".join(
        draw(heads(status=number, fields=draw(headers)))
        for number in draw(st.lists(st.sampled_from([100, 102, 103, 199]), max_size=2))
    )
    said = draw(chunked(body)) if framed == "chunks" else body
    wire = early + draw(heads(status=status, fields=fields)) + said
    return Right(status, tuple(fields), body, wire, framed == "end", lets_go_on=not closes)


@st.composite
def splits(draw: st.DrawFn, wire: bytes) -> list[bytes]:
    """The bytes in pieces: all at once, one by one, or cut anywhere."""
    how = draw(st.sampled_from(["whole", "bytes", "cut"]))
    if how != "cut":
        return [wire] if how == "whole" else [wire[place : place + 1] for place in range(len(wire))]
    cuts = sorted(draw(st.sets(st.integers(0, len(wire)), max_size=12)) | {0, len(wire)})
    return [wire[first:end] for first, end in itertools.pairwise(cuts)]


@st.composite
def spoilt(draw: st.DrawFn, wire: bytes) -> bytes:
    """What a broken or a hostile server makes of it."""
    place, end = sorted((draw(st.integers(0, len(wire))), draw(st.integers(0, len(wire)))))
    noise = draw(st.binary(min_size=1, max_size=20) | st.sampled_from(_NOISE))
    return draw(
        st.sampled_from(
            [
                wire[:place],  # cut short
                wire[:place] + wire[end:],  # something is missing
                wire[:place] + noise + wire[place:],  # something is there besides
                wire[:place] + noise + wire[end:],  # something else is in its place
                wire[:place] + wire[place:end] * 2 + wire[end:],  # something is there twice
                noise + wire,
                noise,
            ]
        )
    )


_NOISE = [
    b"\r\n",
    b"\n",
    b"\0",
    b"\x16\x03\x01\x02\x00\x01",
    b"HTTP/2.0 200 OK\r\n\r\n",
    b"HTTP/1.0 200\r\n\r\n",
    b"HTTP/1.1 099 Early\r\n\r\n",
    b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    b"content-length: 3\r\n",
    b"Content-Length: -1\r\n",
    b"content-length: 99999999999999999999999999\r\n",
    b"content-length: 18446744073709551615\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"transfer-encoding: chunked\r\n",
    b"connection: upgrade\r\nupgrade: h2c\r\n",
    b"ffffffffffffffff\r\n",
    b"fffffffffffffffff\r\n",
    b"-5\r\n",
    b" folded: yes\r\n",
    b": no name\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
]
