"""The way back from a line of the result to spans: ranges, changes, proposals, verdicts, traces. JSON-able, no I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from refiner.merge.algebra import LineRange, Merged
from refiner.types import Change, Citation, Contrast, Proposal, Verdict


def provenance(
    merged: Merged,
    changes: Sequence[Change],
    proposals: Mapping[str, Proposal],
    verdicts: Mapping[str, Verdict],
    external_ids: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """`{"base", "main", "ranges": [...], "removed": [...], "changes": {id: {...}}}` for the changes in `merged`.

    `proposals` and `verdicts` are by proposal key, `external_ids` by trace id. Line numbers are from 1, both ends
    included; those of `removed` count in the base. Only verified quotes are named.
    """
    names = external_ids or {}
    inside = {change.key: change for change in changes if change.key in merged.change_ids}
    return {
        "base": merged.parent,
        "main": merged.main,
        "ranges": [_range(found) for found in merged.lines],
        "removed": [_range(found) for found in merged.removed],
        "changes": {key: _change(inside[key], proposals, verdicts, names) for key in sorted(inside)},
    }


def _range(found: LineRange) -> dict[str, Any]:
    lines = {"start_line": found.start_line, "end_line": found.end_line}
    return {"path": found.path, **lines, "change": found.change_id}


def _change(
    change: Change, proposals: Mapping[str, Proposal], verdicts: Mapping[str, Verdict], names: Mapping[str, str]
) -> dict[str, Any]:
    known = [proposals[key] for key in change.proposal_ids if key in proposals]
    return {
        "rationale": change.rationale,
        "edits": [edit.key for edit in change.edits],
        "proposals": [_proposal(proposal, verdicts.get(proposal.key), names) for proposal in known],
    }


def _proposal(proposal: Proposal, verdict: Verdict | None, names: Mapping[str, str]) -> dict[str, Any]:
    judged = [citation for criterion in verdict.criteria for citation in criterion.citations] if verdict else []
    return {
        "id": proposal.key,
        "side": proposal.side,
        "kind": proposal.kind,
        "theme": proposal.theme,
        "behaviour": proposal.behaviour,
        "feedback_class": proposal.feedback_class,
        "groups": list(proposal.groups),
        "verdict": _verdict(verdict, names) if verdict else None,
        "traces": _traces([*proposal.citations, *judged], names),
    }


def _verdict(verdict: Verdict, names: Mapping[str, str]) -> dict[str, Any]:
    criteria = {
        criterion.name: {"answer": criterion.answer, "reason": criterion.reason, "source": criterion.source}
        for criterion in verdict.criteria
    }
    said = {"id": verdict.key, "result": verdict.result, "words": verdict.words, "analyst": verdict.analyst}
    return {**said, "criteria": criteria, "contrast": _contrast(verdict.contrast, names)}


def _contrast(contrast: Contrast | None, names: Mapping[str, str]) -> dict[str, Any] | None:
    """The numbers of a contrast, and the runs that show the behaviour by external id; None where none was counted."""
    if contrast is None:
        return None
    told = (
        "predicate", "failures", "failures_with", "passes", "passes_with", "tasks_with", "informative_tasks", "matched",
        "p", "q", "m", "attainable_p", "causes", "exploratory", "words",
    )  # fmt: skip
    shown = [names.get(trace_id, trace_id) for trace_id in contrast.holds]
    return {**{name: getattr(contrast, name) for name in told}, "runs_that_show_it": shown}


def _traces(citations: Iterable[Citation], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """One entry a trace, by external id, with its distinct verified quotes in the order of the trace."""
    quotes: dict[str, set[tuple[int, str, str]]] = {}
    for citation in citations:
        if citation.verified:
            quotes.setdefault(citation.trace_id, set()).add((citation.ordinal, citation.span_id, citation.quote))
    return [
        {
            "trace": names.get(trace_id, trace_id),
            "trace_id": trace_id,
            "spans": [{"span_id": span, "ordinal": at, "quote": quote} for at, span, quote in sorted(quotes[trace_id])],
        }
        for trace_id in sorted(quotes, key=lambda trace_id: (names.get(trace_id, trace_id), trace_id))
    ]
