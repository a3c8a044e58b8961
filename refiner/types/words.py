"""The closed sets of words that records use."""

from __future__ import annotations

from typing import Literal

Status = Literal["pass", "fail", "unknown", "infrastructure"]
Origin = Literal["environment", "human", "judge", "heuristic"]
TaskIdOrigin = Literal["file", "text", "none"]
SpanKind = Literal["message", "tool_call", "tool_result", "event"]
Side = Literal["failure", "success"]
Answer = Literal["yes", "no", "unknown"]
Result = Literal["supported", "unsupported", "undecided"]
NoteKind = Literal["goal", "gold", "expected"]
