"""The body of a chat completion as a `Reply`. What is missing, null or of another type there is expected."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from refiner.jsontext import clean, kind_of
from refiner.transports.base import Reply


def read(body: bytes, content_type: str, *, model: str, seconds: float) -> Reply:
    """The reply in a body. Raises ValueError, in words that fit after "a reply that cannot be used", for any other."""
    try:
        found = json.loads(body.decode("utf-8"), object_pairs_hook=_without_repeats)
    except UnicodeDecodeError:
        raise ValueError(f"no text but {content_type or 'bytes of no type'}") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise ValueError(_not_json(body, content_type, problem)) from None
    if not isinstance(found, dict):
        raise ValueError(f"{kind_of(found)} instead of an object")
    if found.get("error") and not found.get("choices"):
        raise ValueError(f"an error in place of a reply: {_short(_words_of(found['error']))}")
    return _reply(found, model, seconds)


def _without_repeats(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = [key for key, count in Counter(key for key, _ in entries).items() if count > 1]
    if repeated:
        raise ValueError(f'the key "{_short(repeated[0])}" stands twice in one object')
    return dict(entries)


def _not_json(body: bytes, content_type: str, problem: json.JSONDecodeError) -> str:
    if not body.strip():
        return "an empty body"
    if "json" not in content_type.lower():
        return f"{content_type or 'a body of no type'} instead of JSON"
    return f"not JSON: {problem.msg} at character {problem.pos}"


def _reply(found: dict[str, Any], model: str, seconds: float) -> Reply:
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ValueError("no list `choices` with an object in it")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise ValueError("no `message` in the first choice")
    prompt, completion = _usage(found)
    refusal = message.get("refusal")
    return Reply(
        text=clean(_content(message.get("content")) or _tool_arguments(message)),
        model=found["model"] if isinstance(found.get("model"), str) and found["model"] else model,
        finish_reason=str(choices[0].get("finish_reason") or ""),
        prompt_tokens=prompt,
        completion_tokens=completion,
        seconds=seconds,
        refusal=clean(refusal) if isinstance(refusal, str) and refusal else None,
    )


def _content(content: Any) -> str:
    """The text of a message: a text, or a list of parts of which those of type text count."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(part for part in parts if isinstance(part, str))
    raise ValueError(f"a `content` that is {kind_of(content)}")


def _tool_arguments(message: dict[str, Any]) -> str:
    """The arguments of the one tool that was called in place of an answer, else nothing."""
    calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return ""
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments if isinstance(arguments, str) else ""


def usage(body: bytes) -> tuple[int | None, int | None]:
    """The tokens of prompt and reply that a body tells of, whatever else is wrong with it; None where it does not."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None, None
    return _usage(found) if isinstance(found, dict) else (None, None)


def embedding_tokens(reply: Any) -> int | None:
    """The tokens that a reply with embeddings tells of; None where it does not."""
    told = reply.get("usage") if isinstance(reply, dict) else None
    found = (_count(told, name) for name in ("prompt_tokens", "total_tokens")) if isinstance(told, dict) else ()
    return next((count for count in found if count is not None), None)


def _usage(found: dict[str, Any]) -> tuple[int | None, int | None]:
    told = found.get("usage")
    told = told if isinstance(told, dict) else {}
    return _count(told, "prompt_tokens"), _count(told, "completion_tokens")


def _count(told: dict[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if type(value) is int and value >= 0 else None


def _words_of(error: Any) -> str:
    if isinstance(error, dict):
        return str(error.get("message") or error.get("code") or error)
    return str(error)


def said(body: str) -> str:
    """What an error body says, in one short line."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return _short(body)
    if isinstance(found, dict):
        return _short(_words_of(found.get("error") or found.get("message") or found.get("detail") or found))
    return _short(str(found))


def error_code(body: str) -> str:
    """The code and type of an error body, lower case, for telling a spent quota from a busy server."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    error = found.get("error") if isinstance(found, dict) else None
    return f"{error.get('code')} {error.get('type')}".lower() if isinstance(error, dict) else ""


def _short(text: str) -> str:
    folded = clean(" ".join(text.split()))
    return folded if len(folded) <= 300 else folded[:299] + "…"
