"""Health per connector: a circuit that opens, probes once and closes; rate limits; and a healthy path that is cheap."""

import pytest

from callgate.model.health import Health
from callgate.model.levels import Category, HealthStatus
from callgate.registry.health import CircuitSettings, HealthBoard, connector_of, speaks_of_connector
from tests.registry.making import Clock, make

MAIL = make("mail.send", connector="mail")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(clock: Clock) -> HealthBoard:
    return HealthBoard(clock, jitter=lambda: 0.0)


def fail(board: HealthBoard, clock: Clock, *, times: int = 1) -> None:
    for _ in range(times):
        board.failed("mail", "ConnectionError", clock.now())


def test_success_and_error_are_remembered_as_they_come(board: HealthBoard):
    board.succeeded("mail", 5.0)
    assert board.of("mail") == Health(last_success_at=5.0)
    board.failed("mail", "refused", 6.0)
    board.failed("mail", "refused again", 7.0)
    assert board.of("mail") == Health(
        status=HealthStatus.DEGRADED,
        last_success_at=5.0,
        last_error="refused again",
        last_error_at=7.0,
        consecutive_errors=2,
    )
    board.succeeded("mail", 8.0)
    healthy = board.of("mail")
    assert (healthy.status, healthy.consecutive_errors, healthy.last_success_at) == (HealthStatus.HEALTHY, 0, 8.0)
    assert healthy.last_error == "refused again"


def test_a_connector_nobody_spoke_of_is_healthy(board: HealthBoard):
    assert board.of("mail") == Health()
    assert board.available(MAIL) is None
    assert board.look(MAIL) is None


def test_the_circuit_opens_after_five_errors_in_a_row_and_not_before(board: HealthBoard, clock: Clock):
    fail(board, clock, times=4)
    assert board.available(MAIL) is None
    assert board.of("mail").status is HealthStatus.DEGRADED
    fail(board, clock)
    assert board.available(MAIL) == "its connector failed 5 times in a row; it is tried again in 30 s"
    health = board.of("mail")
    assert (health.status, health.opened_at) == (HealthStatus.UNAVAILABLE, clock.now())


def test_a_success_in_between_starts_the_count_anew(board: HealthBoard, clock: Clock):
    fail(board, clock, times=4)
    board.succeeded("mail", clock.now())
    fail(board, clock, times=4)
    assert board.available(MAIL) is None


def test_after_the_pause_one_call_probes_and_the_others_wait(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    clock.turn(30)
    assert board.look(MAIL) is None
    assert board.of("mail").status is HealthStatus.DEGRADED
    assert board.available(MAIL) is None
    assert board.available(MAIL) is not None
    assert board.look(MAIL) is not None
    board.succeeded("mail", clock.now())
    assert board.available(MAIL) is None
    assert board.available(MAIL) is None
    assert board.of("mail").status is HealthStatus.HEALTHY


def test_looking_takes_nobodys_turn(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    clock.turn(30)
    for _ in range(10):
        assert board.look(MAIL) is None
    assert board.available(MAIL) is None


def test_a_failed_probe_doubles_the_pause_up_to_ten_minutes(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    pauses: list[float] = []
    pause = 30.0
    for _ in range(50):
        clock.turn(pause - 1)
        assert board.available(MAIL) is not None
        clock.turn(1)
        assert board.available(MAIL) is None
        fail(board, clock)
        pauses.append(pause)
        pause = min(pause * 2, 600.0)
    assert pauses[:6] == [30, 60, 120, 240, 480, 600]
    assert pauses[-1] == 600


def test_calls_that_were_under_way_when_it_opened_do_not_lengthen_the_pause(board: HealthBoard, clock: Clock):
    fail(board, clock, times=25)
    clock.turn(30)
    assert board.available(MAIL) is None


def test_a_lost_probe_lets_another_try(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    clock.turn(30)
    assert board.available(MAIL) is None
    clock.turn(9)
    assert board.available(MAIL) == "its connector failed 5 times in a row; it is tried again in 1 s"
    clock.turn(1)
    assert board.available(MAIL) is None


def test_a_probe_that_ended_by_a_callers_mistake_lets_the_next_try_at_once(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    clock.turn(30)
    assert board.available(MAIL) is None
    board.failed("mail", "bad address", clock.now(), counts=False)
    assert board.available(MAIL) is None


def test_pauses_are_spread(clock: Clock):
    board = HealthBoard(clock, jitter=lambda: 0.5)
    fail(board, clock, times=5)
    assert board.available(MAIL) == "its connector failed 5 times in a row; it is tried again in 33 s"


def test_the_numbers_are_the_operators(clock: Clock):
    board = HealthBoard(clock, settings=CircuitSettings(errors=1, pause=2.0), jitter=lambda: 0.0)
    fail(board, clock)
    assert board.available(MAIL) == "its connector failed 1 times in a row; it is tried again in 2 s"


def test_a_rate_limit_is_honoured_until_it_resets(board: HealthBoard, clock: Clock):
    board.failed("mail", "429", clock.now(), resets_at=clock.now() + 90)
    assert board.available(MAIL) == "its connector is rate limited until 1970-01-12T13:48:10Z"
    assert board.of("mail").status is HealthStatus.UNAVAILABLE
    clock.turn(89)
    assert board.available(MAIL) is not None
    clock.turn(1)
    assert board.available(MAIL) is None
    assert board.of("mail").status is HealthStatus.DEGRADED


def test_a_rate_limit_stands_although_a_call_under_way_succeeds(board: HealthBoard, clock: Clock):
    board.failed("mail", "429", clock.now(), resets_at=clock.now() + 90, counts=False)
    board.succeeded("mail", clock.now())
    assert board.available(MAIL) is not None
    assert board.of("mail").consecutive_errors == 0
    clock.turn(90)
    assert board.available(MAIL) is None
    assert board.of("mail").status is HealthStatus.HEALTHY
    board.succeeded("mail", clock.now())
    assert board.of("mail").rate_limit_resets_at is None


@pytest.mark.parametrize("resets_at", [float("nan"), float("inf"), -1.0, 0.0])
def test_a_senseless_reset_counts_for_nothing(board: HealthBoard, clock: Clock, resets_at: float):
    board.failed("mail", "429", clock.now(), resets_at=resets_at)
    assert board.available(MAIL) is None


def test_a_reset_in_the_far_future_is_tried_again_after_a_day(board: HealthBoard, clock: Clock):
    board.failed("mail", "429", clock.now(), resets_at=clock.now() * 1000)
    clock.turn(86_399)
    assert board.available(MAIL) is not None
    clock.turn(1)
    assert board.available(MAIL) is None


def test_a_callers_mistakes_never_open_the_circuit(board: HealthBoard, clock: Clock):
    for _ in range(100):
        board.failed("mail", "no such address", clock.now(), counts=False)
    assert board.of("mail") == Health()


@pytest.mark.parametrize(
    ("category", "status", "counts"),
    [
        (Category.NETWORK, None, True),
        (Category.TIMEOUT, None, True),
        (Category.API, None, True),
        (Category.API, 503, True),
        (Category.API, 429, True),
        (Category.API, 404, False),
        (Category.USER_INPUT, None, False),
        (Category.PERMISSION, None, False),
        (Category.CONFIGURATION, None, False),
        (Category.RESOURCE, None, False),
        (Category.RUNTIME, None, False),
    ],
)
def test_only_trouble_that_speaks_of_the_connector_counts(category: Category, status: int | None, counts: bool):
    assert speaks_of_connector(category, status=status) is counts


def test_connectors_do_not_share_their_troubles(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    assert board.available(make("mail.list", connector="mail")) is not None
    assert board.available(make("chat.send", connector="chat")) is None


def test_a_tool_without_a_connector_is_its_own(board: HealthBoard):
    alone = make("alone")
    assert connector_of(alone) == "alone"
    for _ in range(5):
        board.failed("alone", "x", 1.0)
    assert board.available(alone) is not None


def test_a_tool_whose_code_is_missing_is_never_available(board: HealthBoard, clock: Clock):
    tool = make("mail.read", connector="mail", unavailable="pip install callgate[mail]")
    assert board.available(tool) == board.look(tool) == "pip install callgate[mail]"
    fail(board, clock)
    assert board.available(tool) == board.look(tool) == "pip install callgate[mail]"


def test_what_is_switched_off_by_hand_stays_off_until_it_is_switched_on(board: HealthBoard, clock: Clock):
    board.set("mail", Health(status=HealthStatus.UNAVAILABLE, consecutive_errors=3))
    clock.turn(10_000)
    board.succeeded("mail", clock.now())
    assert board.available(MAIL) == "its connector was switched off"
    health = board.of("mail")
    assert (health.status, health.consecutive_errors) == (HealthStatus.UNAVAILABLE, 0)
    board.set("mail", Health())
    assert board.available(MAIL) is None


def test_health_can_be_set_as_it_was_read_before(board: HealthBoard, clock: Clock):
    degraded = Health(status=HealthStatus.DEGRADED, last_success_at=1.0, last_error="x", last_error_at=2.0)
    board.set("mail", degraded)
    assert board.of("mail") == degraded
    board.succeeded("mail", 3.0)
    assert board.of("mail").status is HealthStatus.HEALTHY
    opened = Health(status=HealthStatus.UNAVAILABLE, consecutive_errors=7, opened_at=clock.now())
    board.set("mail", opened)
    assert board.of("mail") == opened
    clock.turn(30)
    assert board.available(MAIL) is None
    limited = Health(status=HealthStatus.UNAVAILABLE, rate_limit_resets_at=clock.now() + 5)
    board.set("mail", limited)
    assert board.of("mail") == limited
    clock.turn(5)
    assert board.available(MAIL) is None


@pytest.mark.parametrize("resets_at", [float("nan"), float("inf"), 0.0])
def test_a_senseless_reset_that_is_set_does_not_hold(board: HealthBoard, resets_at: float):
    board.set("mail", Health(status=HealthStatus.UNAVAILABLE, rate_limit_resets_at=resets_at))
    assert board.available(MAIL) is None
    assert board.of("mail").rate_limit_resets_at is None


def test_nothing_is_known_of_a_forgotten_connector(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    board.forget("mail")
    assert board.of("mail") == Health()


def test_a_long_error_is_cut(board: HealthBoard):
    board.failed("mail", "x" * 10_000, 1.0)
    assert len(board.of("mail").last_error or "") == 500


def test_a_clock_that_was_set_back_does_not_hold_an_open_circuit(board: HealthBoard, clock: Clock):
    fail(board, clock, times=5)
    clock.wall -= 1_000_000
    clock.ticks += 30
    assert board.available(MAIL) is None
