"""Beside the diff: size against what is advised, validator and audits, export, another result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, session, skill_state
from pages._ui.skill_state import Shown
from pages._ui.text import count, esc
from refiner.reporting.fitness import Fitness, Size, as_decided, fitness

if TYPE_CHECKING:
    from refiner.types import Finding
    from refiner.views import Exports

TAKEN: Final = "sk_taken"
BASE: Final = "sk_base"
FOLDER: Final = "sk_folder"
PLACES: Final = (
    ("for you, in Claude Code", "~/.claude/skills/{name}/"),
    ("for you, in Codex", "~/.codex/skills/{name}/"),
    ("for you, in other agents", "~/.agents/skills/{name}/"),
    ("for one project", ".claude/skills/{name}/"),
)


def checks(found: Shown) -> None:
    """The budget meter, then what validator and audits say."""
    measured = checked(found)
    meters = "".join(map(_meter, measured.sizes))
    st.html(f"<h3>Size</h3>{meters}{_found(measured)}")


def checked(found: Shown) -> Fitness:
    """How well the version on screen fits what is advised."""
    items = (item for item in found.here.review.items if item.change_id in found.inside)
    changes = {item.change_id: as_decided(item.row.change, item.decision) for item in items}
    return fitness(found.here.report, found.merged, changes)


def _meter(size: Size) -> str:
    grown = size.now - size.base
    share, before = min(1.0, size.now / size.advised), min(1.0, size.base / size.advised)
    over = " over" if size.now > size.advised else ""
    change = f", {grown:+,}" if grown else ""
    return (
        f'<p class="sk-size"><b>{size.now:,}</b> of {size.advised:,} {size.unit}'
        f"<span>{size.now / size.advised:.0%}{change}</span></p>"
        f'<div class="sk-meter{over}" role="img" aria-label="{size.now} of {size.advised} {size.unit}">'
        f'<i style="width:{share:.2%}"></i><u style="width:{min(share, before):.2%}"></u></div>'
    )


def _found(measured: Fitness) -> str:
    lines = [_line(one) for one in measured.findings]
    if not lines:
        return (
            '<h3>Checks</h3><p class="sk-ok">✓ Meets the specification; no audit found anything in what was added.</p>'
        )
    return f'<h3>Checks</h3><ul class="sk-checks">{"".join(lines)}</ul>'


def _line(finding: Finding) -> str:
    serious = finding.severity in ("error", "quarantine")
    source = f" ({esc(finding.source, 60)})" if finding.source else ""
    line = f'<br><code class="sk-line">{esc(finding.line, 200)}</code>' if finding.line else ""
    return (
        f'<li class="{"bad" if serious else "warn"}"><b>{esc(finding.kind)}, {esc(finding.severity)}</b> '
        f"{esc(finding.words)}{source}{line}</li>"
    )


def export(found: Shown) -> None:
    """The downloads. With nothing accepted it asks what is meant; errors and quarantined changes block the skill."""
    st.html("<h3>Export</h3>")
    name, items = found.here.name, found.here.review.items
    if not any(item.in_skill for item in items) and not st.session_state.get(BASE):
        _nothing(name, sum(item.row.result == "supported" for item in items))
        return
    made = session.workspace().exports(name)
    if found.preview != "none" or found.upto is not None:
        cards.line("Downloads hold the changes accepted now, not what is shown on the left.")
    if made.blocked:
        cards.sentences(["The skill cannot be exported yet.", *made.blocked], "error")
    already = {one.words for one in checked(found).findings}
    for words in made.warnings:
        if words not in already:
            cards.line(words)
    _downloads(made, name)
    if not made.blocked:
        session.link("skills", "Install where agents look", icon=":material/install_desktop:", install=name)
    if st.session_state.get(TAKEN) == name:
        _where(made, name)


def _nothing(name: str, supported: int) -> None:
    cards.line("Nothing is accepted yet, so the skill is still the base. What would you like to do?")
    session.link("review", "Review the changes", icon=":material/rule:")
    if supported:
        words = f"Accept all {supported} supported"
        st.button(words, key="sk_export_accept", on_click=skill_state.look, args=("supported",))
    st.button("Export the base as it is", key="sk_export_base", type="tertiary", on_click=_take_base)


def _take_base() -> None:
    st.session_state[BASE] = True


def _downloads(made: Exports, name: str) -> None:
    shut = bool(made.blocked)
    folder = made.name or "skill"
    files = (
        (made.main, "The skill", made.skill_md, made.main, shut),
        ("zip", "Its folder as a zip", made.zip, f"{folder}.zip", shut),
        ("patch", "Patch to the base", made.patch, f"{folder}.patch", shut),
        ("report", "Report to read (HTML)", made.report_html, f"{folder}-report.html", False),
        ("decisions", "Decision log (JSONL)", made.decisions_jsonl, "decisions.jsonl", False),
        ("provenance", "Provenance (JSON)", made.provenance_json, "provenance.json", False),
        ("changes", "Table of changes (CSV)", made.changes_csv, f"{folder}-changes.csv", False),
    )
    with st.container(key="sk_downloads", gap="small"):
        for at, (kind, words, data, file, disabled) in enumerate(files):
            st.download_button(
                f"Download {made.main}" if at == 0 else words,
                data, file, "application/octet-stream", key="sk_get_skill" if at == 0 else f"sk_get_{kind}",
                type="primary" if at == 0 else "tertiary", disabled=disabled, icon=":material/download:",
                on_click=_taken, args=(name,), width="stretch" if at == 0 else "content",
            )  # fmt: skip


def _taken(name: str) -> None:
    st.session_state[TAKEN] = name


def _where(made: Exports, name: str) -> None:
    """After a download: the places where agents look, each with a button that copies it."""
    st.html("<h3>Where it goes</h3>")
    cards.line("Put the file into a folder named like the skill:")
    for words, place in PLACES:
        st.html(f'<p class="rv-meta">{words}</p>')
        st.code(place.format(name=made.name or "skill") + made.main, language=None, wrap_lines=True)
    traces, labels = session.workspace().newer(name)
    newer = f"{count(traces + labels, 'newer record')} wait already. " if traces + labels else ""
    cards.line(f"{newer}Refine again when new traces are there: decisions on equal changes carry over.")
    session.link("refine", "Go to Refine", icon=":material/arrow_forward:")


def other_result() -> None:
    """Opens a folder that the command line wrote."""
    holder = st.expander("Open a result of the command line", key="sk_open", on_change="rerun")
    if not holder.open:
        return
    with holder:
        cards.line("The folder named with --out. It is copied, never changed, and shown as its automatic merge.")
        folder = st.text_input("Folder", key=FOLDER, persist_state="session", placeholder="build/sample")
        if st.button("Open", key="sk_open_yes", disabled=not (folder or "").strip()):
            with st.spinner("Reading the result"):
                done = cards.attempt(session.workspace().open_result, Path((folder or "").strip()).expanduser())
            if done:
                corpus = session.workspace().corpus_of(done.value)
                session.go("skill", corpus=corpus, refinement=done.value, preview="automatic")
            st.rerun()
