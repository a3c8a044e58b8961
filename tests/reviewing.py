"""Reports to review, made by hand: changes of every kind over a small skill, with their verdicts and findings."""

from __future__ import annotations

from collections.abc import Sequence

from refiner import merge
from refiner.reporting.report import Inputs, Report
from refiner.snapshot import Snapshot
from refiner.types import Change, Contrast, ContrastTable, Edit, Finding, Proposal, Result, SkillVersion, Verdict

LINES = 12
BASE = SkillVersion(
    {
        "SKILL.md": (
            "---\nname: demo\ndescription: A demo.\n---\n\n# Demo\n\n## Steps\n\n"
            + "".join(f"- Step number {number} is done with care.\n" for number in range(LINES))
            + "\n## Checks\n\n- Look once more.\n"
        ).encode()
    }
)
STEPS = ("Demo", "Steps")


def line(number: int) -> str:
    return f"Step number {number} is done with care."


def added(text: str, section: tuple[str, ...] = ("Demo", "Checks"), requires: tuple[str, ...] = ()) -> Edit:
    return Edit("SKILL.md", "append_to_section", section, new=text, requires=requires)


def replaced(number: int, text: str) -> Edit:
    return Edit("SKILL.md", "replace", STEPS, old=line(number), new=text)


def after(number: int, text: str) -> Edit:
    return Edit("SKILL.md", "insert_after", STEPS, old=f"- {line(number)}", new=text)


def proposal(name: str, edit: Edit) -> Proposal:
    return Proposal(
        "failure", "cluster", (name,), name, edit.new, name, behaviour=f"called({name})", section=edit.section
    )


def contrast(p: float) -> Contrast:
    return Contrast("called(x)", 9, 5, 9, 1, 4, 4, True, p, p, 1, p, "yes", "words")


def verdict(of: Proposal, result: Result, tasks: int, p: float) -> Verdict:
    return Verdict(of.key, result, (), f"{tasks} tasks", "offline", tasks=tasks, traces=tasks, contrast=contrast(p))


def report(
    edits: Sequence[tuple[Edit, ...]],
    results: Sequence[Result] = (),
    findings: Sequence[tuple[int, str]] = (),
    tasks: Sequence[int] = (),
    ps: Sequence[float] = (),
) -> Report:
    """A report with one change for each tuple of edits; `findings` are (number of the change, severity)."""
    proposals = tuple(proposal(f"tool{number}", one[0]) for number, one in enumerate(edits))
    drafts = [
        Change(one, (made.key,), made.rationale, (0, -number))
        for number, (one, made) in enumerate(zip(edits, proposals, strict=True))
    ]
    changes = merge.settle(BASE, drafts)
    verdicts = tuple(
        verdict(
            made,
            results[number] if number < len(results) else "supported",
            tasks[number] if number < len(tasks) else 3,
            ps[number] if number < len(ps) else 0.01,
        )
        for number, made in enumerate(proposals)
    )
    return Report(
        refinement_id="r1",
        base=BASE,
        snapshot=Snapshot("s", (), 0, 0, {}, 0, {}, 0),
        inputs=Inputs((), (), 0, ()),
        config={},
        versions={},
        seconds={},
        analyst="offline",
        include_undecided=False,
        audits_block=True,
        table=ContrastTable((), (), 0, 0.05, True, 0),
        summaries=(),
        clusterings=(),
        proposals=proposals,
        shortfalls=(),
        verdicts=verdicts,
        changes=changes,
        findings=tuple(
            Finding(changes[number].key, "leak", severity, "x", "a trace", f"holds x ({severity})")  # type: ignore[arg-type]
            for number, severity in findings
        ),
    )
