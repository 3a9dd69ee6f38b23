"""What is told where something is refused: one code, one status, one title, whichever way it comes."""

import pytest

from callgate import errors, tool
from callgate.serve.problems import SAID, TITLES, code_of, status_of, status_of_refusal
from tests.doors.http.conftest import Served

_REFUSALS = sorted(
    (each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.Refusal)),
    key=lambda each: each.__name__,
)


@pytest.mark.parametrize("kind", _REFUSALS, ids=lambda kind: kind.__name__)
def test_a_refusal_has_one_status_whether_it_is_raised_or_is_how_a_call_ended(kind: type[errors.Refusal]):
    raised = kind.__new__(kind)
    assert status_of(raised) == status_of_refusal(kind.code)
    assert code_of(raised) == kind.code
    assert status_of(raised) in TITLES


def test_errors_are_told_by_the_nearest_that_is_known():
    assert status_of(errors.ApprovalNotFound()) == 404
    assert code_of(errors.ApprovalNotFound()) == "approval_not_found"
    assert status_of(errors.ApprovalConflict()) == 409
    assert status_of(errors.AuditBroken()) == 503
    assert status_of(errors.ConfigurationError("x")) == 400
    assert status_of(errors.NoEffect()) == status_of(ValueError()) == 500


async def test_what_cannot_be_done_now_is_not_blamed_on_the_store(served: Served):
    @tool(effects="read_only", unavailable="its extra is not installed")
    def draw() -> str:
        """Draw."""
        return ""

    served.gate.add(draw)
    async with await served.agent() as agent:
        answer = await agent.post("/api/v1/calls", json={"tool": "draw"})
    assert (answer.status_code, answer.json()["code"]) == (503, "tool_unavailable")
    assert answer.json()["title"] == "It cannot be done now"


async def test_a_fault_of_our_own_is_told_alike_at_the_api_and_at_the_console(
    served: Served, monkeypatch: pytest.MonkeyPatch
):
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    for path in ("/sign-in", "/api/v1/policy/roles"):
        with monkeypatch.context() as patch:
            patch.setattr("callgate.serve.console.entering.page", fail)
            patch.setattr(served.gate, "roles", fail)
            async with await served.person(f"for {path}") as ada:
                host = {"Host": served.console.removeprefix("http://")}
                answer = await ada.get(path, headers=host)
        assert (answer.status_code, answer.json()["code"], answer.json()["detail"]) == (500, "fault", SAID[500][0])


async def test_an_address_that_is_none_is_told_alike_everywhere(served: Served):
    async with await served.person() as ada:
        for path in ("/nowhere", "/api/v1/nowhere"):
            answer = await ada.get(path, headers={"Host": served.console.removeprefix("http://")})
            assert (answer.status_code, answer.json()["code"]) == (404, "no_such_address")
