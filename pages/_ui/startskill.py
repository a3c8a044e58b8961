"""The skill a corpus starts from: shown, uploaded, pasted, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._ui import cards, session
from pages._ui.text import clean, count

if TYPE_CHECKING:
    from refiner.views import SkillView

GENERATION = "skill_generation"
MAIN = "SKILL.md"
WAYS = {"upload": "Upload", "paste": "Paste", "none": "Start from nothing"}


def draw(name: str, skill: SkillView | None) -> None:
    """What is there, and the three ways to set another one."""
    left, right = st.columns([3, 4], gap="large")
    with left:
        way = st.segmented_control(
            "Set the start skill",
            list(WAYS),
            default="upload",
            required=True,
            format_func=WAYS.__getitem__,
            key="skill_way",
            persist_state="session",
        )
        {"upload": _upload, "paste": _paste, "none": _none}[way or "upload"](name)
    with right:
        _shown(skill)


def _shown(skill: SkillView | None) -> None:
    if skill is None or skill.skeleton:
        cards.empty(
            "No start skill",
            "A refinement then starts from a skeleton: a name, and the sections Steps, Checks and Avoid.",
        )
        return
    size = f"{count(skill.lines, 'line')}, about {count(skill.tokens, 'token')}"
    more = f", {count(len(skill.files), 'file')}" if len(skill.files) > 1 else ""
    cards.line(f"{skill.main}: {size}{more}")
    cards.sentences(skill.problems)
    st.code(clean(skill.text), language=None, wrap_lines=True, height=420)


def _upload(name: str) -> None:
    from refiner.views import Upload

    generation = st.session_state.get(GENERATION, 0)
    files = st.file_uploader(
        "A SKILL.md, or any other markdown file", accept_multiple_files=True, key=f"skill_files_{generation}"
    )
    folder = st.file_uploader(
        "The folder of a skill", accept_multiple_files="directory", key=f"skill_folder_{generation}"
    )
    given = [*(files or ()), *(folder or ())]
    if given:
        st.session_state[GENERATION] = generation + 1
        if files_read := cards.attempt(session.workspace().read_skill, [Upload(one.name, one) for one in given]):
            _set(name, files_read.value)
        st.rerun()


def _paste(name: str) -> None:
    st.text_area(
        "The text of the skill",
        key="skill_text",
        height=320,
        persist_state="session",
        placeholder="---\nname: my-skill\n...",
    )
    st.button("Use this text", key="skill_paste", type="primary", on_click=_pasted, args=(name,))


def _pasted(name: str) -> None:
    text = str(st.session_state.get("skill_text") or "")
    if not text.strip():
        cards.notice("error", "There is no text yet: paste the skill, then press “Use this text”.")
    else:
        _set(name, {MAIN: text.encode()})


def _none(name: str) -> None:
    cards.line("Everything that is learned is appended to a skeleton.")
    st.text_input(
        "Name of the new skill", key="skill_new_name", max_chars=64, persist_state="session", placeholder="my-skill"
    )
    st.button("Start from the skeleton", key="skill_none", type="primary", on_click=_emptied, args=(name,))


def _emptied(name: str) -> None:
    _set(name, None, str(st.session_state.get("skill_new_name") or "").strip() or None)


def _set(name: str, files: Mapping[str, bytes] | None, skill_name: str | None = None) -> None:
    main = main_of(list(files)) if files else MAIN
    if main is None:
        cards.notice("error", "There is no markdown file among these: add a SKILL.md, or one .md file.")
        return
    if cards.attempt(session.workspace().set_skill, name, files, main=main, skill_name=skill_name):
        cards.notice("done", "The start skill is set. A refinement that is already there keeps its own.")


def main_of(names: Sequence[str]) -> str | None:
    """The file to refine: SKILL.md, else the first other markdown file; None when there is none."""
    markdown = sorted((name for name in names if name.lower().endswith((".md", ".markdown"))), key=_depth)
    named: Any = next((name for name in markdown if name.rsplit("/", 1)[-1].lower() == "skill.md"), None)
    return named or (markdown[0] if markdown else None)


def _depth(name: str) -> tuple[int, str]:
    return name.count("/"), name
