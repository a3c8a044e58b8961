"""What the attributes of spans mean: GenAI conventions, OpenInference, AI SDK, Traceloop. Files are not known here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from refiner.formats import _messages
from refiner.formats._common import scalar_id, text_of, without_images
from refiner.formats._llm_dialects import Message, heard, replied, unpacked
from refiner.formats._observed import Kind, Seen
from refiner.formats._otel_spans import Attributes, Event, Recorded, nested

_OPERATIONS = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion", "llm_call"), "model"),
    **dict.fromkeys(("execute_tool", "tool_call"), "tool"),
    **dict.fromkeys(("invoke_agent", "create_agent", "invoke_workflow", "agent_call", "embeddings"), "other"),
}
_INFERENCE = {"LLM": "model", "TOOL": "tool", "RETRIEVER": "tool"}
_AI_SDK = re.compile(r"ai\.(?:generate|stream)(?:Text|Object)(?:\.do(?:Generate|Stream))?(?:\s|\Z)")
_SPOKEN = re.compile(r"gen_ai\.(system|user|assistant|tool)\.message\Z")
_CHOICE = "gen_ai.choice"
_TOOL_NAMES = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
_TOOL_IDS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id", "ai.toolCall.id")
_GIVEN = (
    *("gen_ai.tool.call.arguments", "ai.toolCall.args", "ai.toolCall.input", "tool.parameters", "input.value"),
    *("traceloop.entity.input", "input"),
)
_GAVE = (
    *("gen_ai.tool.call.result", "ai.toolCall.result", "ai.toolCall.output", "output.value"),
    *("traceloop.entity.output", "output"),
)
_PREFIX = re.compile(r"\A(?:execute_tool |running tool: |tool\.)|\.tool\Z")
_MODELS = ("gen_ai.response.model", "ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_COUNTS = {
    "input_tokens": (
        *("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
        *("ai.usage.inputTokens", "ai.usage.promptTokens", "llm.usage.prompt_tokens"),
    ),
    "output_tokens": (
        *("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
        *("ai.usage.outputTokens", "ai.usage.completionTokens", "llm.usage.completion_tokens"),
    ),
    "cost_usd": ("llm.cost.total", "gen_ai.usage.cost", "gen_ai.usage.total_cost"),
}


def kind_of(span: Recorded) -> Kind:
    """Whether a span is a call of a model, of a tool, or anything around them."""
    a = span.attributes
    stated = _OPERATIONS.get(scalar_id(a.get("gen_ai.operation.name")))
    stated = stated or _INFERENCE.get(scalar_id(a.get("openinference.span.kind")).upper())
    stated = stated or {"tool": "tool"}.get(scalar_id(a.get("traceloop.span.kind")))
    if stated == "tool" or "ai.toolCall.name" in a or "gen_ai.tool.name" in a:
        return "tool"
    if stated is None and _AI_SDK.match(scalar_id(a.get("ai.operationId")) or scalar_id(a.get("operation.name"))):
        return "model"
    if stated is None and "openinference.span.kind" not in a and ("llm.request.type" in a or _spoke(span)):
        return "model"
    return "model" if stated == "model" else "other"


def _spoke(span: Recorded) -> bool:
    keys = ("llm.input_messages.0.", "gen_ai.prompt.0.", "gen_ai.completion.0.")
    told = any(key.startswith(keys) or key in ("gen_ai.prompt", "gen_ai.completion") for key in span.attributes)
    return told or any(_SPOKEN.match(event.name) or event.name == _CHOICE for event in span.events)


def seen(span: Recorded, kind: Kind) -> Seen:
    """A span as the call that it records."""
    a = span.attributes
    name = scalar_id(_messages.first(a, _TOOL_NAMES)) or _PREFIX.sub("", span.name)
    given, gave = unpacked(_messages.first(a, _GIVEN)), _messages.first(a, _GAVE)
    return Seen(
        id=span.span_id,
        parent=span.parent,
        kind=kind,
        name=text_of(name) or "unnamed",
        call_id=scalar_id(_messages.first(a, _TOOL_IDS)),
        input=without_images(_messages.arguments_text(given)) if kind == "tool" else "",
        output=_observed(gave, span.events) if kind == "tool" else "",
        error=span.error,
        start=span.start,
        end=span.end,
        heard=tuple(_heard(a, span.events)) if kind == "model" else (),
        said=tuple(_said(a, span.events)) if kind == "model" else (),
    )


def _observed(value: Any, events: tuple[Event, ...]) -> str:
    inner = unpacked(value)
    if value is None:
        return "\n".join(message["content"] or "" for message in _events(events) if message["role"] == "tool")
    if isinstance(inner, dict) and "content" in inner and ("tool_call_id" in inner or set(inner) == {"content"}):
        return _messages.result_text({"content": inner["content"]})
    return text_of(value if isinstance(value, str) and not isinstance(inner, str) else inner)


def _heard(a: Attributes, events: tuple[Event, ...]) -> list[Message]:
    """What a model was given, from the fullest of the ways in which a span may tell it."""
    told = unpacked(a.get("gen_ai.system_instructions"))
    system = [] if told is None else [{"role": "system", "content": _words(told)}]
    ways: tuple[Callable[[], list[Message]], ...] = (
        lambda: heard(a.get("gen_ai.input.messages")),
        lambda: _inference(a, "llm.input_messages"),
        lambda: _indexed(a, "gen_ai.prompt"),
        lambda: heard(a.get("ai.prompt.messages")),
        lambda: heard(a.get("gen_ai.prompt")),
        lambda: list(_events(events)),
        lambda: heard(_messages.first(a, ("ai.prompt", "input.value", "traceloop.entity.input", "input"))),
    )
    return [*system, *next((said for way in ways if (said := way())), [])]


def _words(told: Any) -> Any:
    parts = told if isinstance(told, list) else [told]
    texts = (_messages.first(part, ("content", "text")) if isinstance(part, dict) else part for part in parts)
    return "\n".join(text_of(text) for text in texts)


def _said(a: Attributes, events: tuple[Event, ...]) -> list[Message]:
    """What a model gave back, from the fullest of the ways in which a span may tell it."""
    ways: tuple[Callable[[], list[Message]], ...] = (
        lambda: replied(a.get("gen_ai.output.messages")),
        lambda: _inference(a, "llm.output_messages"),
        lambda: _indexed(a, "gen_ai.completion"),
        lambda: _ai_sdk(a),
        lambda: replied(a.get("gen_ai.completion")),
        lambda: [message for event in events if event.name == _CHOICE for message in _choice(event)],
        lambda: replied(_messages.first(a, ("output.value", "traceloop.entity.output", "output"))),
    )
    return next((said for way in ways if (said := way())), [])


def _inference(a: Attributes, prefix: str) -> list[Message]:
    """Messages as OpenInference flattens them."""
    found = []
    for item in nested(a, prefix):
        message = dict(_messages.as_dict(item.get("message")))
        contents = _messages.as_list(message.pop("contents", None))
        parts = [_messages.as_dict(one).get("message_content", one) for one in contents]
        calls = [_messages.as_dict(one).get("tool_call", one) for one in _messages.as_list(message.get("tool_calls"))]
        found.append({**message, "content": message.get("content") or parts or None, "tool_calls": calls})
    return [message for message in found if "role" in message]


def _indexed(a: Attributes, prefix: str) -> list[Message]:
    """Messages as Traceloop flattens them; contents may be JSON of blocks."""
    found = [{**one, "content": unpacked(one.get("content"))} for one in nested(a, prefix)]
    default = "assistant" if prefix.endswith("completion") else "user"
    return [message for one in found for message in heard([{"role": default, **one}])]


def _ai_sdk(a: Attributes) -> list[Message]:
    calls = unpacked(a.get("ai.response.toolCalls"))
    text = _messages.first(a, ("ai.response.text", "ai.response.object"))
    words = [{"role": "assistant", "content": text_of(text)}] if text is not None else []
    return [*words, *(replied(calls) if isinstance(calls, list) else [])]


def _events(events: tuple[Event, ...]) -> Iterator[Message]:
    """Messages that a span holds as events."""
    for event in events:
        role = _SPOKEN.match(event.name)
        if role is not None:
            content, calls = unpacked(event.attributes.get("content")), unpacked(event.attributes.get("tool_calls"))
            named = {"tool_call_id": event.attributes.get("id"), "tool_calls": _messages.as_list(calls)}
            yield {"role": role.group(1), "content": content if content is None else text_of(content), **named}


def _choice(event: Event) -> list[Message]:
    message = unpacked(event.attributes.get("message"))
    return replied(message if message is not None else event.attributes)


def model_of(span: Recorded) -> str:
    return scalar_id(_messages.first(span.attributes, _MODELS))


def counts_of(span: Recorded) -> dict[str, float]:
    """Tokens and cost of one call."""
    found = {ours: _messages.first(span.attributes, keys) for ours, keys in _COUNTS.items()}
    return {ours: value for ours, value in found.items() if isinstance(value, int | float) and value > 0}
