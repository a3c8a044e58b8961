"""OpenTelemetry spans in their forms on disk: OTLP JSON (also snake case), JS and Python exports, bare attributes.

What attributes mean is not known here.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from refiner.formats._common import scalar_id, text_of, utc_time
from refiner.formats._messages import as_dict, as_list, first

Attributes = dict[str, Any]

_VALUES = ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue")
_KINDS_OF_AI = ("gen_ai.", "llm.", "ai.", "openinference.", "traceloop.")
_COLUMN = "attributes."
_CONTEXTS = ("spanContext", "context.trace_id")
_DEEP = 20
_NESTED = {"llm", "openinference", "input", "output", "tool", "session"}
_WHOLE = ("tool.parameters", "input.value", "output.value", "llm.invocation_parameters")
"""What is nested is flattened down to these, whose own insides are values."""


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    attributes: Attributes
    at: str | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One span, or (kind `log`) an event that was exported apart from its span."""

    trace_id: str
    span_id: str
    parent: str
    name: str
    attributes: Attributes
    events: tuple[Event, ...] = ()
    start: str | None = None
    end: str | None = None
    error: str | None = None
    resource: Attributes = field(default_factory=dict)


def is_spans(record: dict[str, Any]) -> bool:
    """Whether a record is a span of a known form or an envelope of some."""
    if any(key in record for key in ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", *_CONTEXTS)):
        return True
    if "traceId" in record and "spanId" in record and ("startTimeUnixNano" in record or "attributes" in record):
        return True
    if isinstance(record.get("context"), dict) and "trace_id" in record["context"]:
        return True
    return _tells_ai(record) or _tells_ai(as_dict(record.get("attributes")))


def _tells_ai(attributes: Attributes) -> bool:
    return sum(key.startswith(_KINDS_OF_AI) for key in attributes) >= 2


def spans_of(record: dict[str, Any]) -> Iterator[Recorded]:
    """The spans that a record is or holds, in its order."""
    envelopes = first(record, ("resourceSpans", "resource_spans")) or []
    logs = first(record, ("resourceLogs", "resource_logs")) or []
    for kind, envelope in [*(("span", one) for one in as_list(envelopes)), *(("log", one) for one in as_list(logs))]:
        resource = attributes_of(as_dict(as_dict(envelope).get("resource")).get("attributes"))
        for scope in _scopes(as_dict(envelope)):
            for one in as_list(first(as_dict(scope), ("spans", "logRecords", "log_records"))):
                if isinstance(one, dict):
                    yield _span(one, resource) if kind == "span" else _log(one)
    if not envelopes and not logs:
        yield _span(record, attributes_of(as_dict(record.get("resource")).get("attributes")))


def _scopes(envelope: dict[str, Any]) -> list[Any]:
    keys = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans", "scopeLogs", "scope_logs")
    return as_list(first(envelope, keys))


def _span(one: dict[str, Any], resource: Attributes) -> Recorded:
    context = as_dict(first(one, ("spanContext", "context", "span_context")))
    parent = as_dict(one.get("parentSpanContext")).get("spanId")
    parent = parent or first(one, ("parentSpanId", "parent_span_id", "parentId", "parent_id"))
    start = first(one, ("startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time"))
    end = first(one, ("endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time"))
    events = tuple(_event(event) for event in as_list(one.get("events")) if isinstance(event, dict))
    return Recorded(
        trace_id=_id(_first_of("trace_id", one, context)),
        span_id=_id(_first_of("span_id", one, context)),
        parent=_id(parent),
        name=scalar_id(first(one, ("name", "spanName"))),
        attributes=_own_attributes(one),
        events=events,
        start=_time(start),
        end=_time(end),
        error=_error(as_dict(one.get("status")), one, events),
        resource=resource,
    )


def _first_of(key: str, one: dict[str, Any], context: dict[str, Any]) -> Any:
    camel = re.sub(r"_(\w)", lambda hit: hit.group(1).upper(), key)
    return first(context, (camel, key)) or first(one, (camel, key, f"context.{key}"))


def _own_attributes(one: dict[str, Any]) -> Attributes:
    """The attributes of a span; of a table's row those in its columns, of a bare map the map itself."""
    if "attributes" in one:
        return _flattened(attributes_of(one["attributes"]))
    columns = {key.removeprefix(_COLUMN): value for key, value in one.items() if key.startswith(_COLUMN)}
    return _flattened(columns) or (one if _tells_ai(one) else {})


def _flattened(attributes: Attributes) -> Attributes:
    """The attributes of OpenInference as they are flattened on a span; tables and exports of Phoenix nest them."""
    flat: Attributes = {}
    for key, value in attributes.items():
        is_nested = isinstance(value, dict | list) and key.split(".", 1)[0] in _NESTED
        flat |= dict(_leaves(key, value, 0)) if is_nested else {key: value}
    return flat


def _leaves(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        inner = enumerate(value)
    if not inner or depth > _DEEP or key in _WHOLE or key.endswith("function.arguments"):
        yield key, value
        return
    for name, one in inner:
        yield from _leaves(f"{key}.{name}", one, depth + 1)


def _log(one: dict[str, Any]) -> Recorded:
    """A log record as a span that holds nothing but the event."""
    attributes = {**as_dict(_plain(one.get("body"), 0)), **attributes_of(one.get("attributes"))}
    name = scalar_id(first(one, ("eventName", "event_name"))) or scalar_id(attributes.get("event.name"))
    at = _time(first(one, ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano")))
    trace_id, parent = (_id(first(one, keys)) for keys in (("traceId", "trace_id"), ("spanId", "span_id")))
    return Recorded(trace_id, "", parent, "", {}, (Event(name, attributes, at),))


def with_logs(spans: list[Recorded]) -> list[Recorded]:
    """The spans with the events that were exported apart; those of a span that is not there make one of their own."""
    apart: dict[tuple[str, str], list[Event]] = {}
    for log in (span for span in spans if _is_log(span)):
        apart.setdefault((log.trace_id, log.parent), []).extend(log.events)
    found = [
        replace(span, events=(*span.events, *apart.pop((span.trace_id, span.span_id), ())))
        for span in spans
        if not _is_log(span)
    ]
    for (trace_id, span_id), events in apart.items():
        times: list[str | None] = [*sorted(event.at for event in events if event.at)] or [None]
        found.append(Recorded(trace_id, span_id, "", "", {}, tuple(events), times[0], times[-1]))
    return found


def _is_log(span: Recorded) -> bool:
    return not span.span_id and not span.name and not span.attributes and bool(span.events)


def _event(one: dict[str, Any]) -> Event:
    at = _time(first(one, ("timeUnixNano", "time_unix_nano", "time", "timestamp")))
    return Event(scalar_id(one.get("name")), attributes_of(one.get("attributes")), at)


def attributes_of(value: Any) -> Attributes:
    """Attributes as a plain map, whether they came as one or as OTLP's list of keys and typed values."""
    if isinstance(value, dict):
        return value
    pairs = [pair for pair in as_list(value) if isinstance(pair, dict)]
    return {scalar_id(pair.get("key")): _plain(pair.get("value"), 0) for pair in pairs}


def _plain(value: Any, depth: int) -> Any:
    if not isinstance(value, dict) or depth > _DEEP:
        return value
    camel = {re.sub(r"_(\w)", lambda hit: hit.group(1).upper(), key): inner for key, inner in value.items()}
    for key in _VALUES:
        if key in camel:
            is_number = key == "intValue" and isinstance(camel[key], str) and re.fullmatch(r"-?\d{1,19}", camel[key])
            return int(camel[key]) if is_number else camel[key]
    if "arrayValue" in camel:
        return [_plain(inner, depth + 1) for inner in as_list(as_dict(camel["arrayValue"]).get("values"))]
    pairs = as_list(as_dict(camel.get("kvlistValue")).get("values"))
    return {
        scalar_id(pair.get("key")): _plain(pair.get("value"), depth + 1) for pair in pairs if isinstance(pair, dict)
    }


def _id(value: Any) -> str:
    """An id in hex; strict JSON of protocol buffers has it in base64. One of zeros is none."""
    name = scalar_id(value).removeprefix("0x")
    if name.endswith("=") and re.fullmatch(r"[A-Za-z0-9+/]{11}=|[A-Za-z0-9+/]{22}==", name):
        try:
            name = base64.b64decode(name).hex()
        except binascii.Error:
            return name
    return "" if not name.strip("0") else name


def _time(value: Any) -> str | None:
    """A time from ISO text, nanoseconds, or the pair of seconds and nanoseconds of JS."""
    if isinstance(value, list) and len(value) == 2 and all(type(part) is int for part in value):
        return utc_time(value[0] * 10**9 + value[1])
    return utc_time(value)


def _error(status: dict[str, Any], one: dict[str, Any], events: tuple[Event, ...]) -> str | None:
    code = status.get("code", status.get("status_code", one.get("status_code")))
    if code not in (2, "2", "ERROR", "STATUS_CODE_ERROR"):
        return None
    raised = (scalar_id(event.attributes.get("exception.message")) for event in events)
    stated = next((said for key in ("message", "description") if (said := scalar_id(status.get(key)))), "")
    stated = stated or scalar_id(one.get("status_message"))
    return text_of(stated or next((text for text in raised if text), "") or "error")


def nested(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """The list that flattened attributes make: `prefix.0.role` and so on."""
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        path = key.removeprefix(f"{prefix}.").split(".") if key.startswith(f"{prefix}.") else []
        if not path or not path[0].isdecimal() or len(path) > _DEEP:
            continue
        node = tree
        for part in path[:-1]:
            inner = node.setdefault(part, {})
            node = inner if isinstance(inner, dict) else {}
        node[path[-1]] = value
    whole = _lists(tree)
    return [item for item in whole if isinstance(item, dict)] if isinstance(whole, list) else []


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_lists(node[key]) for key in sorted(node, key=int)]
    return {key: _lists(value) for key, value in node.items()}
