"""Which column of a table is what: the fields there are, a guess from the names of columns, and mappings as text.

No table is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from refiner.errors import ConfigError

FIELDS: dict[str, tuple[str, ...]] = {
    "trace": (
        *("trace_id", "trace", "run_id", "run", "session_id", "session", "conversation_id", "conversation"),
        *("thread_id", "episode", "id"),
    ),
    "task": ("task_id", "task", "problem_id", "case_id", "test_case"),
    "messages": ("messages", "spans", "trajectory", "conversation_json", "transcript", "chat"),
    "role": ("role", "speaker", "author", "sender"),
    "name": ("tool_name", "tool", "function", "span_name", "step_name"),
    "input": ("input_text", "input", "prompt", "question", "request", "query", "instruction", "arguments", "args"),
    "output": (
        *("output_text", "output", "model_output", "model_response", "model_answer", "prediction", "response"),
        *("answer", "completion", "content", "text", "message", "observation", "result"),
    ),
    "order": ("order", "ordinal", "step", "turn", "index", "position", "seq"),
    "time": ("start_time", "timestamp", "time", "created_at"),
    "error": ("error", "exception"),
    "outcome": ("outcome", "passed", "success", "resolved", "correct", "is_correct", "reward", "score"),
    "feedback": ("feedback", "comment", "reason", "explanation", "rationale"),
    "model": ("model", "model_name"),
}
"""The fields, each with the names of columns that stand for it, the likeliest first."""
HELP = 'what the columns of a table are, as "trace=run,role=who,output=words", where names do not tell'
WORDS = {
    "trace": "names the run",
    "task": "names the task",
    "messages": "holds the whole run as JSON",
    "role": "says who speaks",
    "name": "names the tool or step",
    "input": "is the request, or what a tool was given",
    "output": "is the answer, the words, or what a tool gave",
    "order": "gives the order of steps",
    "time": "says when",
    "error": "is an error",
    "outcome": "says how the run ended",
    "feedback": "says why",
    "model": "names the model",
}
"""What a column does that stands for a field, for people."""


def guessed(columns: Sequence[str]) -> dict[str, str]:
    """The column of each field that a name tells, each column once; "sender_role" is not guessed."""
    by_name = {column.strip().lower().replace(" ", "_").replace("-", "_"): column for column in reversed(columns)}
    found: dict[str, str] = {}
    for field, names in FIELDS.items():
        column = next(
            (by_name[name] for name in names if name in by_name and by_name[name] not in found.values()), None
        )
        if column is not None:
            found[field] = column
    return found


def are_enough(mapping: Mapping[str, str]) -> bool:
    """Whether there is something of a run in these columns: its whole, its steps, or its request and answer."""
    return "messages" in mapping or ("output" in mapping and any(one in mapping for one in ("role", "name", "input")))


def one_row_a_step(mapping: Mapping[str, str]) -> bool:
    """Whether a row is a step of a run rather than a whole one."""
    return "messages" not in mapping and ("role" in mapping or "name" in mapping)


def read(text: str | None) -> dict[str, str]:
    """A mapping written as `field=column, ...`. Raises ConfigError for an unknown field or a pair without "="."""
    mapping: dict[str, str] = {}
    for pair in (text or "").split(","):
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not pair.strip():
            continue
        if field not in FIELDS or not equals or not column:
            raise ConfigError(
                f'columns: "{pair.strip()}" cannot be read; write field=column, with a field of {", ".join(FIELDS)}'
            )
        mapping[field] = column
    return mapping


def problem(mapping: Mapping[str, str], columns: Sequence[str]) -> str | None:
    """Why a table with these columns cannot be read by a mapping, and what to do; None when it can."""
    missing = sorted(column for column in mapping.values() if column not in columns)
    shown = ", ".join(columns[:20]) or "none"
    if missing:
        return f"there is no column {', '.join(missing)}; the columns are {shown}"
    if not are_enough(mapping):
        return (
            f"which column is what cannot be told from the names {shown}; say so as in "
            '--columns "trace=run,role=who,output=words" or on the Corpus page'
        )
    return None
