"""The command line as a person or a script meets it: flags, exit codes, what it prints, and what it does again."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import RULE, SKILL, Said, read, refiner, skill_of, tree, workbook

from refiner import RefineConfig
from refiner.cli import COMMANDS
from refiner.resources import ROOT

LONG = {
    "--skill": "--skill-file",
    "--traces": "--raw-jsonl",
    "--rewards": "--binary-rewards",
    "--feedback": "--ground-truth-file",
    "--out": "--output-dir",
}
DATABASE = "refiner.duckdb"


@dataclasses.dataclass(frozen=True)
class Done:
    """The usual refinement: the flags that name its inputs, its folder, and what the command said."""

    given: list[str]
    out: Path
    said: Said

    @property
    def id(self) -> str:
        return str(read(self.out, "run.json")["refinement"])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    folder = tmp_path_factory.mktemp("done")
    given = workbook().write(folder)
    return Done(given, folder / "out", refiner("refine", *given, "--out", folder / "out"))


def stages(said: Said) -> Iterator[tuple[str, int, int]]:
    """Name, steps and kept steps of each stage, from what went to standard error."""
    for line in said.err.splitlines():
        found = re.fullmatch(r"(\w+) +[\d.]+ s  (\d+) steps(?:, (\d+) kept from before)?", line)
        assert found, line
        yield found[1], int(found[2]), int(found[3] or 0)


# Help, flags and exit codes.


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=["refiner", *COMMANDS])
def test_every_command_has_help(command: list[str]) -> None:
    said = refiner(*command, "--help")
    assert said.code == 0 and said.err == ""
    assert f"usage: {' '.join(['refiner', *command])}" in said.out
    if not command:
        listed = {line.split()[0] for line in said.out.splitlines() if line.startswith("    ") and line.strip()}
        assert set(COMMANDS) <= listed


def test_every_setting_has_a_flag_of_its_name() -> None:
    words = set(re.findall(r"--[\w-]+", refiner("refine", "--help").out))
    names = {"--" + field.name.replace("_", "-") for field in dataclasses.fields(RefineConfig)}
    assert names - words == set()
    short = ("skill", "name", "traces", "rewards", "feedback", "out", "include", "json")
    assert {f"--{name}" for name in short} - words == set()


@pytest.mark.parametrize(
    "arguments",
    [[], ["refind"], ["refine", "--colour", "red"], ["inspect"], ["export", "--out", "x"], ["refine", "--limit"]],
    ids=" ".join,
)
def test_a_command_that_cannot_be_understood_ends_with_2(arguments: list[str]) -> None:
    said = refiner(*arguments)
    assert said.code == 2
    assert "usage: refiner" in said.err and said.out == ""


@pytest.mark.parametrize(
    ("first", "behind"),
    [
        ("labels accept quiet loud --corpus c", "labels accept --corpus c quiet loud"),
        ("labels accept c --corpus c", "labels accept --corpus c c"),
        ("skills status nobody --json", "skills status --json nobody"),
    ],
)
def test_names_may_stand_before_or_behind_the_options(
    first: str, behind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = [refiner(*words.split()) for words in (first, behind)]
    assert said[0] == said[1] and "usage:" not in said[0].err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--analyst", "model"], r"\w+: the model analyst (is not available|needs the address of an endpoint)"),
        (["--preset", "paper"], r"preset: `paper` needs a model analyst .*use `--preset standard`"),
        (["--preset", "papper"], r'preset: "papper" is not one of standard, paper; did you mean "paper"\?'),
        (["--limit", "none"], r'limit: "none" is not a whole number'),
        (["--holdout", "1"], r'holdout: "1" is out of range; it must be at least 0 and below 1'),
        (["--no-use-positive", "--no-use-negative"], r"use_positive, use_negative: both are off"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_setting_that_cannot_work_is_refused_in_one_sentence(tmp_path: Path, arguments: list[str], says: str) -> None:
    said = refiner("refine", *workbook().write(tmp_path), "--out", tmp_path / "out", *arguments)
    assert said.code == 2 and said.out == ""
    (line,) = said.err.splitlines()
    assert re.match("refiner: " + says, line)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("left_out", "says"), [("--traces", "add --traces PATH"), ("--out", "add --out DIR")])
def test_what_is_needed_and_missing_is_named(done: Done, left_out: str, says: str) -> None:
    arguments = [*done.given, "--out", str(done.out)]
    place = arguments.index(left_out)
    said = refiner("refine", *arguments[:place], *arguments[place + 2 :])
    assert said.code == 2 and says in said.err


def test_a_settings_file_in_the_working_folder_counts(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("refiner.toml").write_text("seeed = 3\n")
    said = refiner("refine", *done.given, "--out", "out")
    assert said.code == 2
    assert said.err.strip() == 'refiner: refiner.toml: unknown setting "seeed"; did you mean "seed"?'


def test_what_has_no_effect_is_said_and_changes_nothing(done: Done, tmp_path: Path) -> None:
    arguments = [LONG.get(one, one) for one in [*done.given, "--out", str(tmp_path / "out")]]
    said = refiner("refine", *arguments, "--llm-provider", "somebody", "--workers", "3")
    assert said.code == 0
    assert said.err.startswith('refiner: llm_provider: "somebody" is accepted and ignored')
    assert tree(tmp_path / "out") == tree(done.out)


# What it prints.


def test_the_last_lines_say_the_outcome_and_the_next_command(done: Done) -> None:
    assert done.said.code == 0
    assert done.said.out.splitlines()[-5:] == [
        "1 supported, 1 undecided, 1 unsupported (each undecided one recurs in 4 tasks; "
        "within tasks their counts do not tell passing from failing traces).",
        f"Result: {done.out}/combined/proposed_skill.md",
        f"Review it in the browser: refiner app --open {done.out}",
        f"Read: {done.out}/combined/undecided.diff",
        "Take all: the same command with `--include undecided`.",
    ]


def test_the_table_and_the_diff_are_shown(done: Done) -> None:
    lines = done.said.out.splitlines()
    assert any(line.startswith(f"supported       {RULE}") for line in lines)
    assert any(line.startswith("undecided *     Before ending") for line in lines)
    assert f"+  - {RULE}" in lines


def test_standard_error_tells_the_stages(done: Done) -> None:
    told = list(stages(done.said))
    assert [name for name, _, _ in told] == [
        *("contrast", "summaries", "embeddings", "clusters", "proposals"),
        *("recurrences", "folding", "gate", "changes", "audits"),
    ]
    assert ("summaries", 48, 0) in told


def test_the_tree_is_the_published_one(done: Done) -> None:
    sides = ("cluster_proposals.json", "rejected_cluster_proposals.json", "manifest.json", "summaries.json")
    combined = (
        *("proposed_skill.md", "changes.json", "provenance.json", "skill.diff", "undecided.diff"),
        *("contrast.json", "shortfalls.json", "manifest.json"),
    )
    wanted = {f"{side}/{name}" for side in ("failure", "success") for name in sides}
    wanted |= {f"combined/{name}" for name in combined} | {"usage.json"}
    assert wanted - tree(done.out).keys() == set()
    run = read(done.out, "run.json")
    assert run["traces"] == {"fail": 18, "pass": 30} and run["tasks"] == 16
    assert set(run["seconds"]) >= {"contrast", "summarise", "audit"}
    assert run["versions"].keys() >= {"numpy", "scipy", "umap-learn", "hdbscan", "numba", "embedder", "skill-refiner"}


def test_refine_json(done: Done) -> None:
    said = refiner("refine", *done.given, "--out", done.out, "--json")
    body = json.loads(said.out)
    assert body["counts"] == {"supported": 1, "undecided": 1, "unsupported": 1, "not_gated": 0, "taken": 1}
    assert [(one["result"], one["in_proposed_skill"]) for one in body["changes"]] == [
        ("supported", True),
        ("undecided", False),
        ("unsupported", False),
    ]
    assert body["refinement"] == done.id
    assert body["last_lines"] == done.said.out.splitlines()[-5:]


def test_inspect(done: Done) -> None:
    traces = done.given[1]
    said = refiner("inspect", traces, "--json")
    body = json.loads(said.out)
    assert said.code == 0
    assert body["totals"]["traces"] == 48 and body["totals"]["outcomes"]["unknown"] == 48
    assert body["files"][0].keys() == {"path", "format", "traces", "spans", "outcomes", "rejected"}
    table = refiner("inspect", traces).out.splitlines()
    assert re.match(r"traces\.jsonl +canonical +48 +\d+ +0 +0 +48 +0 +0$", table[2])
    assert re.match(r"total +48 ", table[3])


def test_doctor() -> None:
    said = refiner("doctor", "--json")
    checks = json.loads(said.out)
    assert {"name", "ok", "detail", "fix", "needed"} == checks[0].keys()
    assert said.code == (1 if any(one["needed"] and not one["ok"] for one in checks) else 0)
    assert all(one["name"] in refiner("doctor").out for one in checks[:1])


def test_a_gate_switched_off_is_said(done: Done, tmp_path: Path) -> None:
    said = refiner("refine", *done.given, "--out", tmp_path / "out", "--gate", "off")
    assert said.code == 0
    assert "0 supported, 0 undecided, 0 unsupported, 3 not gated." in said.out.splitlines()
    assert "Do not call `delete_sheet`." in skill_of(tmp_path / "out")


def test_a_limit_takes_so_many_traces(done: Done, tmp_path: Path) -> None:
    said = refiner("refine", *done.given, "--out", tmp_path / "out", "--limit", "20", "--json")
    assert said.code == 0
    assert sum(read(tmp_path / "out", "run.json")["traces"].values()) == 20


# The same command again.


def test_the_same_command_resumes_and_runs_nothing(done: Done) -> None:
    before = tree(done.out)
    said = refiner("refine", *done.given, "--out", done.out)
    assert said.code == 0 and said.out == done.said.out
    assert [kept for _, _, kept in stages(said)] == [steps for _, steps, _ in stages(done.said)]
    assert tree(done.out) == before


def test_including_the_undecided_afterwards_runs_nothing_and_takes_them(done: Done, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = refiner("refine", *done.given, "--out", out)
    said = refiner("refine", *done.given, "--out", out, "--include", "undecided")
    assert said.code == 0
    assert [kept for _, _, kept in stages(said)] == [steps for _, steps, _ in stages(first)]
    added = [line for line in skill_of(out).splitlines() if line not in SKILL.splitlines()]
    assert len(added) == 2 and f"  - {RULE}" in added
    assert (out / "combined" / "undecided.diff").read_bytes() == b""
    assert said.out.splitlines()[-1] == f"Next: read {out}/combined/skill.diff"
    back = refiner("refine", *done.given, "--out", out)
    assert tree(out) == tree(done.out) and back.code == 0


def test_export_gives_the_same_tree(done: Done, tmp_path: Path) -> None:
    said = refiner("export", "--refinement", done.id, "--out", tmp_path / "copy", "--db", done.out / DATABASE)
    assert said.code == 0 and said.out.strip() == f"Written: {tmp_path / 'copy'}"
    assert tree(tmp_path / "copy") == tree(done.out)
    assert read(tmp_path / "copy", "run.json") == read(done.out, "run.json")
    again = refiner("export", "--refinement", done.id, "--out", tmp_path / "copy", "--db", done.out / DATABASE)
    assert again.code == 1 and "choose an empty or new folder" in again.err


def test_export_of_what_is_not_there_says_what_to_do(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nowhere = refiner("export", "--refinement", done.id, "--out", "copy")
    assert nowhere.code == 1 and "there is no such database; name one with --db FILE" in nowhere.err
    unknown = refiner("export", "--refinement", "0123", "--out", "copy", "--db", done.out / DATABASE)
    assert unknown.code == 1 and "there is no refinement 0123 in this database" in unknown.err
    assert not (tmp_path / "copy").exists()


def test_ablate_compares_six_arms(done: Done, tmp_path: Path) -> None:
    said = refiner("ablate", *done.given, "--out", tmp_path / "out")
    assert said.code == 0
    rows = [line.split() for line in said.out.splitlines()[2:8]]
    arms = [row[0] for row in rows]
    assert arms == ["full", "summary", "clustering", "positive", "negative", "gating"]
    by_arm = {row[0]: [int(cell) for cell in row[1:]] for row in rows}
    assert by_arm["full"] == [48, *by_arm["full"][1:3], 1, 1, 1, 1, 1]
    assert by_arm["positive"][0] == 18 and by_arm["negative"][0] == 30
    assert by_arm["gating"][-2:] == [3, 1]
    assert tree(tmp_path / "out" / "full") == tree(done.out)
    again = refiner("ablate", *done.given, "--out", tmp_path / "out", "--json")
    assert [row["arm"] for row in json.loads(again.out)] == arms


def test_ablate_leaves_a_folder_of_something_else_alone(done: Done, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    said = refiner("ablate", *done.given, "--out", tmp_path)
    assert said.code == 1 and "holds other files, so nothing was written" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


# As a process.


def test_as_a_module_on_a_terminal_of_another_encoding(done: Done, tmp_path: Path) -> None:
    path = tmp_path / "läufe.jsonl"
    path.write_bytes(Path(done.given[1]).read_bytes())
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "refiner", "inspect", str(path)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"l\?ufe\.jsonl +canonical +48", ended.stdout)
