"""From conversations to an installed skill on the command line: suggestions, the gate, a version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpus import Said, read, refiner, tree

from refiner.snapshot import held_out
from tests.conversations import ONE, REQUESTS, chat_line, many

UNDECIDED = ("--trust-suggested", "--include", "undecided")


class Distilling:
    """`refiner distill` in a folder of its own."""

    def __init__(self, folder: Path, transcript: str) -> None:
        self.file, self.skills, self.out = folder / "talk.jsonl", folder / "skills", folder / "out"
        self.file.write_text(transcript, encoding="utf-8")

    def __call__(self, *more: object, name: str = "tables") -> Said:
        given = ("--transcript", self.file, "--name", name, "--target", self.skills, "--out", self.out)
        return refiner("distill", *given, *more)

    @property
    def skill(self) -> str:
        return (self.skills / "tables" / "SKILL.md").read_text(encoding="utf-8")


@pytest.fixture
def one(tmp_path: Path) -> Distilling:
    return Distilling(tmp_path, ONE)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> tuple[Distilling, Said]:
    distilling = Distilling(tmp_path_factory.mktemp("corpus"), many())
    return distilling, distilling("--trust-suggested")


def test_without_trust_the_attempts_are_listed_and_nothing_is_learned(one: Distilling) -> None:
    said = one()
    assert said.code == 3
    assert "4 attempts in 1 of 1 conversations: 2 failed and 2 passed" in said.out
    assert "No, use a formula instead of a number." in said.out
    assert "--trust-suggested" in said.out and "refiner app" in said.out
    assert not one.skills.exists() and not one.out.exists()


def test_the_list_as_json_names_conversation_spans_and_words(one: Distilling) -> None:
    body = json.loads(one("--json").out)
    first = body["episodes"][0]
    assert (body["conversations"], body["trusted"], body["installed"]) == (1, False, None)
    assert (first["conversation"], first["attempt"], first["outcome"], first["sign"]) == (
        "talk",
        1,
        "fail",
        "correction",
    )
    assert first["said"] == "No, use a formula instead of a number."
    assert len(first["spans"]) == 3 and len(first["reaction"]) == 1


def test_one_conversation_recommends_what_its_user_corrected_and_supports_nothing(one: Distilling) -> None:
    said = one("--trust-suggested")
    changes = read(one.out, "combined/changes.json")
    assert said.code == 0
    assert [change["result"] for change in changes] == ["undecided", "undecided"]
    assert sorted(change["rule"].rpartition(": ")[2].strip("“”") for change in changes) == [
        "Read the name back before you say it is done.",
        "Use a formula instead of a number.",
    ]
    assert "said by the user: 1 trace, 1 task; 1 distinct task, it takes 3" in " ".join(said.out.split())
    assert "nobody looked at each" in said.out
    assert "nothing was written" in said.out and not (one.skills / "tables").exists()
    assert (one.out / "combined" / "undecided.diff").read_text().count(
        "+- Check your result against this correction by a user"
    ) == 2


def test_a_skill_is_made_of_what_a_person_includes_and_leads_back_to_the_conversation(one: Distilling) -> None:
    said = one(*UNDECIDED)
    assert said.out.rstrip().endswith("made version 1.")
    assert "name: tables" in one.skill and "TODO" not in one.skill
    assert one.skill.count("- Check your result against this correction by a user:") == 2
    origin = json.loads((one.skills / "tables" / ".refiner" / "provenance.json").read_bytes())
    assert "talk:e1" in json.dumps(origin)
    assert "distilled from 1 conversation" in refiner("skills", "log", "--target", one.skills).out


def test_what_was_distilled_as_json(one: Distilling) -> None:
    body = json.loads(one(*UNDECIDED, "--json").out)
    assert (body["trusted"], body["installed"]) == (True, 1)
    assert body["refinement"]["counts"] == {
        "supported": 0, "undecided": 2, "unsupported": 0, "not_gated": 0, "taken": 2,
    }  # fmt: skip
    again = json.loads(one(*UNDECIDED, "--json").out)
    assert (again["installed"], again["refinement"]) == (None, None)


def test_the_budget_bounds_the_changes_and_the_rest_is_listed(one: Distilling) -> None:
    one(*UNDECIDED, "--edit-budget", 1)
    assert one.skill.count("- Check your result against this correction by a user") == 1
    weaker = [row for row in read(one.out, "combined/shortfalls.json") if row["kind"] == "weaker_recurrence"]
    assert len(weaker) == 1


def test_a_second_run_changes_nothing_even_after_edits_by_hand(one: Distilling) -> None:
    one(*UNDECIDED)
    path = one.skills / "tables" / "SKILL.md"
    path.write_text(one.skill + "- My own line.\n", encoding="utf-8")
    before = tree(one.skills)
    said = one(*UNDECIDED)
    assert (said.code, tree(one.skills)) == (0, before)
    assert "holds what these conversations say already" in said.out


def test_the_same_conversation_from_another_folder_finds_its_rules_in_the_skill(
    one: Distilling, tmp_path: Path
) -> None:
    one(*UNDECIDED)
    before, one.out = one.skill, tmp_path / "again"
    one(*UNDECIDED)
    assert one.skill == before
    assert {row["result"] for row in read(one.out, "combined/changes.json")} == {"unsupported"}


def test_a_new_conversation_adds_to_the_skill_as_the_next_version(one: Distilling) -> None:
    one(*UNDECIDED, "--edit-budget", 1)
    before = one.skill
    more = chat_line("next", "user: Sort it", "tool sort: ok", "user: no, newest rows first, always", "tool sort: ok")
    one.file.write_text(more, encoding="utf-8")
    said = one(*UNDECIDED)
    assert said.out.rstrip().endswith("now version 2.")
    assert set(before.splitlines()) < set(one.skill.splitlines())
    assert "Newest rows first, always" in one.skill


def test_a_corpus_goes_the_whole_way_and_what_counts_say_is_in_the_skill(corpus: tuple[Distilling, Said]) -> None:
    distilling, said = corpus
    assert said.code == 0
    supported = [row for row in read(distilling.out, "combined/changes.json") if row["result"] == "supported"]
    assert supported and "save_workbook" in supported[0]["rule"]
    assert "`save_workbook`" in distilling.skill


def test_conversations_are_held_out_whole(corpus: tuple[Distilling, Said]) -> None:
    distilling, said = corpus
    out = {f"c{number:02}" for number in range(len(REQUESTS)) if held_out(f"c{number:02}", 0.3)}
    run = read(distilling.out, "run.json")
    assert 0 < len(out) < len(REQUESTS)
    assert f"{2 * len(out)} traces" in said.out
    learned = {
        row["trace_id"] for side in ("failure", "success") for row in read(distilling.out, f"{side}/summaries.json")
    }
    assert len(learned) == 2 * (len(REQUESTS) - len(out))
    assert run["config"]["holdout"] == 0.3


def test_a_conversation_in_which_nobody_reacts_teaches_nothing(tmp_path: Path) -> None:
    silent = Distilling(tmp_path, chat_line("a", "user: Sort it", "agent: Sorted.", "user: List the files", "agent: b"))
    said = silent("--trust-suggested")
    assert said.code == 0
    assert "2 requests nobody reacted to" in said.out and "nothing to learn from" in said.out


def test_a_bare_refusal_is_listed_and_makes_no_rule(tmp_path: Path) -> None:
    refused = Distilling(tmp_path, chat_line("a", "user: Sort it", "tool sort: ok", "user: no!", "tool sort: ok"))
    refused(*UNDECIDED)
    assert not read(refused.out, "combined/changes.json")
    assert "did not say what was wrong" in json.dumps(read(refused.out, "combined/shortfalls.json"))


def mistakes(folder: Path) -> list[tuple[dict[str, Any], int, str]]:
    (folder / "labels.json").write_text('{"a": true}')
    (folder / "alone.jsonl").write_text(chat_line("a", "agent: hello", "tool sort: ok"))
    (folder / "file").write_text("")
    return [
        ({"--transcript": folder / "nope.jsonl"}, 1, "there is no such file"),
        ({"--transcript": folder / "labels.json"}, 1, "holds labels"),
        ({"--transcript": folder / "alone.jsonl"}, 1, "no user speaks in it"),
        ({"--name": "My Tables"}, 2, "try my-tables"),
        ({"--name": "x" * 65}, 2, "1 to 64"),
        ({"--target": folder / "file"}, 1, "is a file"),
        ({"--edit-budget": 0}, 2, "1 or more"),
        ({"--holdout": 1}, 2, "below 1"),
    ]


@pytest.mark.parametrize("number", range(8))
def test_a_mistake_says_what_and_writes_nothing(tmp_path: Path, number: int) -> None:
    wrong, code, words = mistakes(tmp_path)[number]
    (tmp_path / "talk.jsonl").write_text(ONE)
    given = {"--transcript": tmp_path / "talk.jsonl", "--name": "tables", "--target": tmp_path / "skills"} | wrong
    said = refiner("distill", *(part for pair in given.items() for part in pair), "--out", tmp_path / "out")
    assert (said.code, words in said.err) == (code, True), said.err
    assert not (tmp_path / "skills").exists() and not (tmp_path / "out").exists()


def test_real_sessions_are_listed_and_refined_without_an_error(corpora: Path, tmp_path: Path) -> None:
    given = ("--name", "coding", "--target", tmp_path / "skills", "--out", tmp_path / "out")
    listed = refiner("distill", "--transcript", corpora / "claude-code", *given, "--json")
    body = json.loads(listed.out)
    assert listed.code == 3 and body["conversations"] > 50
    assert {one["outcome"] for one in body["episodes"]} == {"fail", "pass"}
    assert all(one["spans"] and one["task"] for one in body["episodes"])
    done = refiner("distill", "--transcript", corpora / "claude-code", *given, "--trust-suggested")
    assert done.code == 0, done.err
    assert read(tmp_path / "out", "run.json")["refinement"]
