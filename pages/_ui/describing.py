"""What the front matter of the start skill lacks: a description to write, and mistakes that one press mends.

Both are changes of their own: decided on, undone and exported like any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import streamlit as st

from pages._ui import cards, skill_state
from pages._ui.skill_state import Shown

if TYPE_CHECKING:
    from refiner.views import Item

LONGEST: Final = 1024
"""The most characters that the specification of skills allows."""
TEXT: Final = "sk_description"
WHY: Final = (
    "The skill starts from nothing, so nobody has said yet what it does and when to use it. By these words an agent "
    "decides whether it reads the skill; there is no export without them."
)
LACKING: Final = (
    "The start skill has no description. By these words an agent decides whether it reads the skill; without them most "
    "agents do not load it."
)
HINT: Final = "Checks and mends invoices in spreadsheets. Use when a request names an invoice or a total."


def mend(found: Shown) -> None:
    """A line and a button for each mistake of the start skill's front matter that is not decided on."""
    wrong = [one for one in found.here.review.items if one.mends and not one.to_write and one.status == "open"]
    if not wrong or not found.open:
        return
    with st.container(key="sk_mend", border=True, gap="small"):
        st.subheader("The start skill breaks the specification", anchor=False)
        cards.line("It did before; nothing here comes from a run. Each fix is a change of its own and can be undone.")
        for item in wrong:
            with st.container(key=f"sk_mend_{item.change_id}", horizontal=True, vertical_alignment="center"):
                cards.line(f"{item.intent}.", strong=True)
                args = (found.here.name, item, "accept")
                st.button("Fix it", key=f"sk_fix_{item.change_id}", on_click=skill_state.decide, args=args)


def draw(found: Shown) -> None:
    """The field, while the description is to be written and this version can be decided on."""
    item = next((one for one in found.here.review.items if one.to_write), None)
    if item is None or item.in_skill or not found.open:
        return
    with st.container(key="sk_describe", border=True, gap="small"):
        st.subheader("Write the description", anchor=False)
        cards.line(LACKING if item.mends else WHY)
        name = found.here.name
        key = f"{TEXT}_{name}"
        st.text_area("Description", key=key, max_chars=LONGEST, height=90, placeholder=HINT, persist_state="session")
        args = (name, item)
        st.button("Keep this description", key="sk_describe_keep", type="primary", on_click=_keep, args=args)


def _keep(name: str, item: Item) -> None:
    text = str(st.session_state.get(f"{TEXT}_{name}") or "")
    if text.strip():
        skill_state.decide(name, item, "amend", text=text)
    else:
        cards.notice("error", "The description is empty: say what the skill does and when to use it.")
