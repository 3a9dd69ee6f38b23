"""Events over HTTP: what was recorded, a page at a time, and what is recorded now, as a stream that can be resumed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from pydantic import BaseModel
from starlette.responses import StreamingResponse

from callgate.model.credential import Right
from callgate.serve.api.paging import Limit
from callgate.serve.entrants import Gate, Reader
from callgate.serve.listening import Listening, Wanted, event_body
from callgate.serve.who import NobodySignedIn, bearer
from callgate.serve.wire import Json, StrictRoute

router = APIRouter(tags=["events"], route_class=StrictRoute)
_MOST = (1 << 53) - 1
Types = Annotated[
    list[Annotated[str, Query(min_length=1, max_length=200)]],
    Query(alias="type", max_length=50, description="A type, or a glob such as `tool_call.*`. Repeatable."),
]
Name = Annotated[str | None, Query(min_length=1, max_length=512)]
After = Annotated[int, Query(ge=0, le=_MOST, description="Only what was recorded after this position.")]
LastEvent = Annotated[
    int | None, Header(alias="Last-Event-ID", ge=0, le=_MOST, description="Go on after this event; now when left out.")
]
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events as they are recorded; `id` is the position to go on from.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


class EventBody(BaseModel):
    """A recorded fact. Its payload is null once it was erased."""

    id: str
    position: int
    """Its place in the record, over all streams."""
    stream: str
    sequence: int
    type: str
    time: float
    trace: str
    call: str | None
    producer: str
    severity: str
    causes: list[str]
    payload_digest: str
    previous: str
    hash: str
    payload: dict[str, Any] | None


class EventPage(BaseModel):
    """Events in the order in which they were recorded."""

    items: list[EventBody]
    next: int | None
    """Give it as `after` to go on; null where nothing more was there."""


@router.get("/events", responses={200: {"model": EventPage}})
async def events(
    gate: Gate,
    _reader: Reader,
    *,
    types: Types = [],  # noqa: B006 - it is only read
    trace: Name = None,
    call: Name = None,
    after: After = 0,
    limit: Limit = 100,
) -> Json:
    """Recorded events that fit, the oldest first."""
    found = await gate.events_after(after, limit=limit, types=types, trace_id=trace, call_id=call)
    further = found[-1].position if len(found) == limit else None
    return Json({"items": [event_body(event) for event in found], "next": further})


@router.get("/events/stream", response_class=StreamingResponse, responses=_STREAM)
async def stream(
    request: Request,
    gate: Gate,
    _reader: Reader,
    *,
    types: Types = [],  # noqa: B006 - it is only read
    trace: Name = None,
    call: Name = None,
    last: LastEvent = None,
) -> StreamingResponse:
    """Events as they are recorded (text/event-stream). A comment every 15 seconds says that the server is there."""

    async def may_go_on() -> bool:
        try:
            found = await bearer(gate, request, oauth=request.app.state.oauth)
        except NobodySignedIn:
            return False
        return found.may(Right.READ)

    listening: Listening = request.app.state.listening
    await listening.ready()
    told = listening.listen(Wanted(tuple(sorted(set(types))), trace, call), after=last, may_go_on=may_go_on)
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
