"""ToolLeaf: a leaf of a py_trees tree that calls a tool, RUNNING until the call has ended. Needs py_trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from py_trees.behaviour import Behaviour
from py_trees.common import Status

from callgate.flows.trees import templates
from callgate.flows.trees.answer import Answer, decoded, error_in
from callgate.flows.trees.board import EXECUTOR, USER, Board
from callgate.flows.trees.calling import Executor, LeafCall, Started, TreeCalls
from callgate.flows.trees.contract import Contract
from callgate.flows.trees.convention import ConventionCalls
from callgate.flows.trees.statuses import NodeStatus

if TYPE_CHECKING:
    from collections.abc import Iterator

_STATUSES = {
    Status.INVALID: NodeStatus.FRESH,
    Status.RUNNING: NodeStatus.RUNNING,
    Status.SUCCESS: NodeStatus.SUCCESS,
    Status.FAILURE: NodeStatus.FAILURE,
}
_NOTES = ("error", "unknown", "pending")


class CannotBegin(Exception):
    """Why a leaf fails without a call."""


class ToolLeaf(Behaviour):
    """A leaf that calls a tool: arguments from the blackboard, the result back to it.

    It is RUNNING until the call has ended, also while a person decides. Then SUCCESS if the call succeeded and its
    result fits the contract, else FAILURE with the reason under `<result_key>_error`. Where nobody knows whether the
    call took effect, `<result_key>_unknown` says so. `<result_key>_pending` names the approval it waits for.

    Args:
        tool: Its name.
        name: The leaf's name; `Tool:<tool>` when left out.
        argument_mapping: Blackboard keys, each with the argument it becomes; absent keys are skipped. When neither this
            nor `arguments` is given, those of the contract, each under its own name.
        arguments: Arguments as values or templates: `"${bb.topic}"`, `"about ${bb.topic | default:tea}"`.
        result_key: Where the result is written; `<tool>_result` when left out.
        contract: What the tool reads, writes and needs; nothing but a call that succeeded when left out.
        timeout: Seconds the call may take.
        namespace: Under which its keys lie on the blackboard.

    Raises:
        ValueError: A template cannot be read, or a key is none.
    """

    def __init__(
        self,
        tool: str,
        *,
        name: str | None = None,
        argument_mapping: Mapping[str, str] | None = None,
        arguments: Mapping[str, Any] | None = None,
        result_key: str | None = None,
        contract: Contract | None = None,
        timeout: float | None = None,
        namespace: str | None = None,
    ) -> None:
        super().__init__(name or f"Tool:{tool}")
        self.tool = tool
        self.contract = contract or Contract()
        self.result_key = result_key or f"{tool.replace('.', '_')}_result"
        self.timeout = timeout
        self._templates = dict(arguments or {})
        templates.check(self._templates)
        if argument_mapping is None and arguments is None:
            argument_mapping = {key: key for key in (*self.contract.reads, *self.contract.may_read)}
        self._mapping = dict(argument_mapping or {})
        self._board = Board(
            self.attach_blackboard_client(namespace=namespace),
            reads=(*self._mapping, *templates.keys_of(self._templates)),
            writes=(self.result_key, *(self._note_key(note) for note in _NOTES), *self.contract.writes),
        )
        self.calls: TreeCalls | None = None
        """The run that makes its calls at the moment, before whatever executor is on the blackboard."""
        self._started: Started | None = None
        self._failed: str | None = None

    @property
    def node_status(self) -> NodeStatus:
        """Where it stands, by number: FRESH 0, RUNNING 1, SUCCESS 2, FAILURE 3."""
        return _STATUSES[self.status]

    @property
    def busy(self) -> bool:
        """Whether a call of it is under way."""
        return self._started is not None and self._started.answer is None

    @property
    def waits_for(self) -> str | None:
        """The approval it waits for, while it does."""
        return None if self._started is None else self._started.waits_for

    @property
    def path(self) -> tuple[str, ...]:
        """Where in its tree it is: the names from the root on, equal siblings told apart by number."""
        return tuple(self._places())[::-1]

    def reset(self) -> None:
        """Let go of what runs, and be fresh: the next tick is another activation."""
        self.stop(Status.INVALID)

    def initialise(self) -> None:
        """Begin an activation: its call is started once."""
        self._started, self._failed, self.feedback_message = None, None, ""
        for note in _NOTES:
            self._board.clear(self._note_key(note))
        try:
            self._started = self._start()
        except (CannotBegin, templates.Missing) as error:
            self._failed = str(error)
        except Exception as error:  # noqa: BLE001 - a leaf fails, whatever its executor does
            self._failed = str(error) or type(error).__name__

    def update(self) -> Status:
        """Where it stands now."""
        if self._started is None:
            return self._fail(self._failed or "it was not begun")
        if self._started.answer is None:
            return self._wait(self._started)
        return self._conclude(self._started.answer)

    def terminate(self, new_status: Status) -> None:
        """Let go of a call that still runs; if it may have taken effect, that is said once it is known."""
        started = self._started
        if new_status is Status.INVALID and self.busy and started is not None:
            self._started = None
            self._board.clear(self._note_key("pending"))
            self.feedback_message = f"{self.tool} is being cancelled"
            started.cancel(self._cancelled)

    def _start(self) -> Started:
        executor = self._executor()
        user = self._user(executor)
        arguments = self._arguments()
        return executor.start(
            LeafCall(tool=self.tool, arguments=arguments, user=user, path=self.path, timeout=self.timeout)
        )

    def _executor(self) -> Executor:
        if self.calls is not None:
            return self.calls
        found = self._board.find(EXECUTOR)
        if found is None:
            message = f"the blackboard has no {EXECUTOR}"
            raise CannotBegin(message)
        if hasattr(found, "start"):
            return cast("Executor", found)
        if hasattr(found, "execute"):
            return ConventionCalls(found)
        kind = type(found).__name__
        message = f"{EXECUTOR} on the blackboard is {kind}, which starts no calls; put gate.tree_calls(context) there"
        raise CannotBegin(message)

    def _user(self, executor: Executor) -> str:
        found = self._board.find(USER)
        if found is None and isinstance(executor, TreeCalls):
            found = executor.user
        if not isinstance(found, str) or not found:
            message = f"nobody is named for whom to call {self.tool}: set {USER} on the blackboard"
            raise CannotBegin(message)
        return found

    def _arguments(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, argument in self._mapping.items():
            try:
                found[argument] = self._board.read(key)
            except KeyError:
                continue
        found |= templates.fill(self._templates, self._board.read)
        missing = [name for name in self.contract.reads if name not in found]
        if missing:
            message = f"the blackboard lacks what {self.tool} needs: {', '.join(missing)}"
            raise CannotBegin(message)
        return found

    def _wait(self, started: Started) -> Status:
        if started.waits_for is not None:
            self._board.write(self._note_key("pending"), started.waits_for)
            self.feedback_message = f"waits for a person: approval {started.waits_for}"
        else:
            self._board.clear(self._note_key("pending"))
            self.feedback_message = f"{self.tool} runs"
        return Status.RUNNING

    def _conclude(self, answer: Answer) -> Status:
        self._board.clear(self._note_key("pending"))
        if answer.unknown is not None:
            self._board.write(self._note_key("unknown"), answer.unknown)
        if answer.error is not None:
            return self._fail(answer.error)
        result = decoded(answer.value) if self.contract.wants_fields else answer.value
        self._board.write(self.result_key, result)
        for key, value in self.contract.outputs(result).items():
            self._board.write(key, value)
        fault = error_in(result) or self.contract.fault(result)
        if fault is not None:
            return self._fail(fault)
        self.feedback_message = f"{self.tool} is done"
        return Status.SUCCESS

    def _fail(self, why: str) -> Status:
        self._board.write(self._note_key("error"), why)
        self.feedback_message = why
        return Status.FAILURE

    def _cancelled(self, answer: Answer) -> None:
        if answer.unknown is not None:
            self._board.write(self._note_key("unknown"), answer.unknown)
            if self._started is None:
                self.feedback_message = str(answer.unknown["message"])

    def _note_key(self, note: str) -> str:
        return f"{self.result_key}_{note}"

    def _places(self) -> Iterator[str]:
        node: Behaviour = self
        while node.parent is not None:
            twins = [child for child in node.parent.children if child.name == node.name]
            # Marks that are written in names are doubled: no name can be that of a numbered twin.
            name = node.name.replace("#", "##")
            yield name if len(twins) == 1 else f"{name}#{twins.index(node)}"
            node = node.parent
        yield node.name
