"""Conversations of a corpus of the app: attempts beside it, suggestions that count for nothing until answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from refiner.errors import ConfigError, LabelError
from refiner.snapshot import held_out
from refiner.workspace import Workspace
from tests.conversations import ONE, REQUESTS, chat_line, many
from tests.rooms import holding, upload

GROWN = chat_line("next", "user: Sort it", "tool sort: ok", "user: no, newest first", "tool sort: ok", "user: thanks")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with holding(tmp_path, "talks", upload("talk.jsonl", ONE)) as workspace:
        yield workspace


def ids(workspace: Workspace, name: str = "talks episodes") -> list[str]:
    return [row.trace_id for row in workspace.suggestions(name)]


def kinds(workspace: Workspace, name: str = "talks episodes") -> dict[str, int]:
    return dict(sorted(Counter(row.kind for row in workspace.suggestions(name)).items()))


def test_the_attempts_lie_beside_the_conversations_and_count_for_nothing(workspace: Workspace) -> None:
    done = workspace.cut_conversations("talks")
    assert (done.corpus, done.conversations, done.failing, done.passing, done.added) == ("talks episodes", 1, 2, 2, 4)
    assert workspace.corpus("talks").traces == 1
    assert workspace.corpus("talks episodes").statuses["unknown"] == 4
    assert kinds(workspace) == {"approval": 1, "correction": 2, "redo": 1}
    assert workspace.suggestions("talks") == []


def test_a_suggestion_shows_what_was_asked_answered_and_said(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    first = workspace.suggestions("talks episodes")[0]
    assert (first.external_id, first.goal, first.status) == ("talk:e1", "Sum column B", "fail")
    assert (first.last_answer, first.reason) == ("I wrote the sum.", "No, use a formula instead of a number.")


def test_accepted_ones_become_a_persons_outcomes_with_what_the_user_objected_to(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    first, second, third, fourth = ids(workspace)
    assert workspace.accept_suggestions("talks episodes", [first, second]) == 2
    assert workspace.dismiss_suggestions("talks episodes", [third]) == 1
    assert ids(workspace) == [fourth]
    labelled = [*workspace.label_rows("talks episodes", status="fail")]
    labelled += workspace.label_rows("talks episodes", status="pass")
    assert [(row.trace_id, row.origin, row.feedback) for row in labelled] == [
        (first, "human", "No, use a formula instead of a number."),
        (second, "human", ""),
    ]
    assert workspace.corpus("talks episodes").statuses["unknown"] == 2


def test_an_attempt_is_not_judged_by_the_correction_that_it_begins_with(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    before = kinds(workspace)
    with pytest.raises(LabelError, match="when the conversations were cut"):
        workspace.suggest_labels("talks episodes")
    assert kinds(workspace) == before


def test_what_a_person_labels_by_hand_waits_no_longer(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    first = ids(workspace)[0]
    workspace.label("talks episodes", first, "pass")
    assert first not in ids(workspace)


def test_cutting_again_adds_what_is_new_and_keeps_the_answers(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    corrected = [row.trace_id for row in workspace.suggestions("talks episodes") if row.kind == "correction"]
    workspace.accept_suggestions("talks episodes", corrected)
    assert workspace.cut_conversations("talks").added == 0
    workspace.ingest("talks", [upload("next.jsonl", GROWN)])
    done = workspace.cut_conversations("talks")
    assert (done.corpus, done.added) == ("talks episodes", 2)
    assert kinds(workspace) == {"approval": 2, "correction": 1, "redo": 1}


def test_the_attempts_start_from_the_skill_of_their_conversations_and_warn_in_their_own_words(
    workspace: Workspace,
) -> None:
    workspace.set_skill("talks", {"SKILL.md": b"# Tables\n\n- Save early.\n"})
    workspace.cut_conversations("talks")
    workspace.accept_suggestions("talks episodes", ids(workspace)[:3])
    view = workspace.corpus("talks episodes")
    assert view.skill is not None and "Save early." in view.skill.text
    assert view.warnings == (
        "2 failing attempts are too few to compare: what the user corrected is proposed one by one, undecided, for you "
        "to judge.",
        "Attempts without an outcome: 1. Answer them under “Suggested”, or label them by hand.",
    )
    assert workspace.estimate("talks episodes", {}).warnings == view.warnings


def test_what_will_be_held_out_is_counted_by_conversation(workspace: Workspace) -> None:
    workspace.create_corpus("many")
    workspace.ingest("many", [upload("many.jsonl", many())])
    name = workspace.cut_conversations("many").corpus
    workspace.accept_suggestions(name, ids(workspace, name))
    out = sum(held_out(f"c{number:02}", 0.3) for number in range(len(REQUESTS)))
    expected = workspace.estimate(name, {"holdout": 0.3})
    assert (expected.failing, expected.passing) == (len(REQUESTS) - out, len(REQUESTS) - out)
    assert 0 < expected.held_out_tasks == out


def test_a_removed_corpus_of_attempts_is_made_anew(workspace: Workspace) -> None:
    workspace.cut_conversations("talks")
    workspace.remove_corpus("talks episodes")
    assert workspace.cut_conversations("talks").added == 4
    assert len(ids(workspace)) == 4


def test_what_holds_nothing_to_cut_says_what_to_do(workspace: Workspace) -> None:
    workspace.create_corpus("silent")
    workspace.ingest("silent", [upload("a.jsonl", chat_line("a", "agent: hello", "tool sort: ok"))])
    with pytest.raises(ConfigError, match="no user speaks"):
        workspace.cut_conversations("silent")
    workspace.ingest("silent", [upload("b.jsonl", chat_line("b", "user: Sort it", "agent: Sorted."))])
    with pytest.raises(ConfigError, match="no user says how an attempt went"):
        workspace.cut_conversations("silent")
    assert [card.name for card in workspace.corpora()] == ["talks", "silent"]
