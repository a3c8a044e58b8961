"""Help: keys, words, what each verdict means, and where files go. Fixed text only."""

from __future__ import annotations

import streamlit as st

from pages._ui import cards, header

KEYS = (
    ("Review", "A", "accept"),
    ("Review", "X, then 1 to 6", "reject, with the reason"),
    ("Review", "E", "edit; Ctrl or Cmd + Enter accepts the edited text"),
    ("Review", "S", "skip for now"),
    ("Review", "U", "undo your own latest decision"),
    ("Review", "J and K", "next and previous"),
    ("Review", "O", "open the run"),
    ("Review", "H, Esc", "this page; back from a second step"),
    ("Label by hand", "P, F, U", "passed, failed, unknown"),
    ("Label by hand", "N", "a note on what went wrong; Enter saves it"),
    ("Label by hand", "J and K", "next and previous"),
    ("Suggested", "A, O, D", "accept, the other outcome, dismiss"),
    ("Suggested", "J and K", "next and previous"),
)
WORDS = (
    ("Trace", "One recorded run of an agent: what it was asked, each call with its answer, and its last words."),
    ("Task", "What the agent was asked. Runs of one task are compared with each other, never with those of another."),
    (
        "Outcome",
        "How a run ended: passed, failed, unknown, or infrastructure (not the agent's doing). Yours counts first.",
    ),
    ("Episode", "One attempt within a conversation: a request, what the agent did, and how the user took it."),
    ("Feedback", "A sentence on what went wrong in a run."),
    ("Refinement", "One pass over a corpus: groups of runs, proposals, their evidence, and changes to the skill."),
    ("Change", "What you accept or reject: one or more edits that stand or fall together."),
    (
        "Held out",
        "Tasks kept aside. Nothing is learned from them; opened once, on purpose, they say how far the changes reach.",
    ),
    (
        "Counter-example",
        "A run that speaks against a change: it ended the other way, or shows the behaviour and passed.",
    ),
    ("Second look", "A sample of accepted changes shown anew, without verdict and earlier answer."),
)
VERDICTS = (
    ("Supported", "The difference between failing and passing runs of the same tasks is too large to be chance."),
    ("Undecided", "There are too few runs to tell. A person can: accepting it is recorded as your decision."),
    ("Unsupported", "The runs speak against it. Accepting it needs a reason and is recorded as an override."),
    (
        "Quarantined",
        "The text carries an instruction or a value that hardly belongs into a skill. Edit it, or release it with a "
        "reason.",
    ),
)
PLACES = (
    ("For you, in every project", "~/.claude/skills/NAME/ or ~/.agents/skills/NAME/"),
    ("For one project", ".claude/skills/NAME/ in the project"),
)


def draw() -> None:
    """The whole page."""
    header.show(None, "Help", note="Keys, words, and what a verdict means.")
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Keys", anchor=False)
        cards.table(("Page", "Key", "What it does"), KEYS)
        cards.line("A key does nothing while you type in a field.")
        st.subheader("Where an exported skill goes", anchor=False)
        cards.table(("", "Folder; NAME is the name of the skill"), PLACES)
    with right:
        st.subheader("Verdicts of the evidence gate", anchor=False)
        cards.table(("Verdict", "What it means"), VERDICTS)
        st.subheader("Words", anchor=False)
        cards.table(("Word", "What it means"), WORDS)


draw()
