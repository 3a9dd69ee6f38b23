"""Worker: one run of an agent whose tools are the gate's, under a layer that only narrows.

Whatever a page or a note tells the model, it can ask for nothing that the layer, the policy and a person do not allow:
every call it makes is judged by the gate as if the caller had made it, and ends with the call it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from callgate.model.context import Context
from callgate.model.layer import Layer
from callgate.model.tool import Tool
from callgate.model.tool_context import ToolContext
from callgate.tools.agents import weight
from callgate.tools.agents.model import open_model
from callgate.tools.outbound.troubles import NotSetUp
from callgate.tools.services import Services, Way

if TYPE_CHECKING:
    from pydantic_ai import Tool as AgentTool
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestContext
    from pydantic_ai.usage import RunUsage

_CHARACTERS = 4
"""Of a token, about."""
_NOT_LET_IN = frozenset({401, 403})
_LONGEST_RESULT = 40_000
"""Characters of a result that a model is told."""


class OutOfBudget(Exception):
    """The run used up what it was given; what it did so far stays done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one run may use."""

    requests: int
    """Turns of the model."""
    calls: int
    """Calls through the gate."""
    tokens: int


@dataclass(slots=True, kw_only=True)
class Worker:
    """What the agents of one call share: model, gate, narrowed context, budget, and whom progress is told.

    Make it with `hire`, and enter it: the connections to the model are closed when it is left.
    """

    model: Model
    way: Way
    tell: Callable[..., str]
    context: Context
    budget: Budget
    note: Callable[[str], None]
    usage: RunUsage
    """Of all its agents together, those that run side by side included."""
    calls: int = 0
    weighed: int = 0
    """Characters that were sent and answered."""

    async def __aenter__(self) -> Self:
        await self.model.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.model.__aexit__(*raised)  # pyright: ignore[reportArgumentType] - as they come

    async def ask(self, instructions: str, prompt: str, *, answer: Any = str, tools: Sequence[str] = ()) -> Any:
        """What the model answers, after whatever calls it made.

        Args:
            instructions: Whose work it is, and how it is done.
            prompt: The work.
            answer: The type of the answer.
            tools: The tools it may see, as far as the asker has them.

        Raises:
            OutOfBudget: It used up what it was given.
            NotSetUp: The model does not take the key.
            ConnectionError: The model cannot be reached, or answers with an error or with what cannot be read.
        """
        from pydantic_ai import Agent  # noqa: PLC0415 - an extra
        from pydantic_ai.capabilities import Hooks  # noqa: PLC0415 - an extra
        from pydantic_ai.exceptions import ModelHTTPError, UsageLimitExceeded  # noqa: PLC0415 - an extra
        from pydantic_ai.usage import UsageLimits  # noqa: PLC0415 - an extra

        limits = UsageLimits(request_limit=self.budget.requests, total_tokens_limit=self.budget.tokens)
        agent = Agent[object, Any](
            self.model,
            output_type=answer,
            instructions=instructions,
            tools=self._tools(tools),
            capabilities=[Hooks(before_model_request=self._weigh, after_model_request=self._weigh_answer)],
        )
        try:
            run = await agent.run(prompt, usage=self.usage, usage_limits=limits)
        except UsageLimitExceeded as error:
            raise OutOfBudget(str(error)) from error
        except ModelHTTPError as error:
            if error.status_code in _NOT_LET_IN:
                raise NotSetUp(
                    f"the model does not let us in ({error.status_code}): look at its key; {error}"
                ) from error
            raise ConnectionError(f"the model answered with an error: {error}") from error
        except OutOfBudget:
            raise
        except Exception as error:  # a provider's client fails in its own ways at what is no answer
            raise ConnectionError(f"the model did not answer as it should: {type(error).__name__}: {error}") from error
        return run.output

    async def _weigh(self, _run: object, request_context: ModelRequestContext) -> ModelRequestContext:
        """Before every request: what is sent counts also where a server does not say what it counted."""
        self.weighed += weight.of_request(request_context)
        about = self.weighed // _CHARACTERS
        if about > self.budget.tokens:
            raise OutOfBudget(f"about {about} tokens were sent and answered, and {self.budget.tokens} are allowed")
        return request_context

    async def _weigh_answer(
        self, _run: object, *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        del request_context
        self.weighed += weight.of_message(response)
        return response

    async def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Call a tool through the gate; its outcome.

        Raises:
            OutOfBudget: No call is left.
        """
        if self.calls >= self.budget.calls:
            raise OutOfBudget(f"all {self.budget.calls} calls are used up")
        self.calls += 1
        self.note(f"{tool} ({self.calls} of at most {self.budget.calls} calls)")
        return await self.way.call(tool, arguments, self.context)

    def _tools(self, names: Sequence[str]) -> list[AgentTool[object]]:
        offered = {tool.name: tool for tool in self.way.pool(self.context)}
        return [self._lent(offered[name]) for name in names if name in offered]

    def _lent(self, tool: Tool) -> AgentTool[object]:
        from pydantic_ai import Tool as AgentTool  # noqa: PLC0415 - an extra

        async def call(**arguments: Any) -> str:
            try:
                outcome = await self.call(tool.name, arguments)
            except OutOfBudget as error:
                return f"Not run: {error}. Finish with what you have."
            text = self.tell(outcome)
            return text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]}\n[cut]"

        schema = dict(tool.input_schema)
        return AgentTool[object].from_schema(call, tool.name, tool.description, schema, sequential=not tool.read_only)


async def hire(services: Services, ctx: ToolContext, *, name: str, tools: Sequence[str], budget: Budget) -> Worker:
    """A worker for one call, which reaches these tools and no other, and of them what the caller may.

    Raises:
        NotSetUp: The model cannot be had.
    """
    from pydantic_ai.usage import RunUsage  # noqa: PLC0415 - an extra

    assert services.model is not None  # noqa: S101 - without one the tool is unavailable
    assert services.way is not None  # noqa: S101 - as well
    layer = Layer(name=name, allow=tuple(tools))
    # The caller's key is for this call alone: what it calls gets keys of its own.
    context = ctx.context.narrow(layers=(layer,), idempotency_key=None)
    ctx.confine(frozenset(tools))
    return Worker(
        model=await open_model(services.model, ctx),
        way=services.way,
        tell=services.tell,
        context=context,
        budget=budget,
        note=lambda text: ctx.progress(None, text),
        usage=RunUsage(),
    )
