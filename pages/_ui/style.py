"""The one style sheet. Pages use its classes (`sr-card`, `sr-muted`, ...) and its colours (`var(--sr-accent)`, ...)."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

SHEET = Path(__file__).with_name("style.css")
ONE_PRESS = """<script>
if (!window.onePress) {
  window.onePress = true;
  window.addEventListener("keydown", event => {
    const at = event.target;
    const typing = at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName || "");
    if (event.repeat && event.key.length === 1 && !typing) event.stopImmediatePropagation();
  }, true);
}
</script>"""
"""The repeats of a key that is held down would decide on what nobody has seen. Fixed text: nothing is filled in."""


def apply() -> None:
    """Puts the style sheet on the page."""
    st.html(SHEET)


def one_press() -> None:
    """Puts on the page, once a session, that a key which is held down counts as pressed once."""
    with st.container(key="one_press"):
        st.html(ONE_PRESS, unsafe_allow_javascript=True)
