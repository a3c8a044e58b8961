"""The gate measured on itself: flips on equal and on shuffled questions, planted faults, over every transport."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from answering import Answerer, fields, for_stub
from corpus import Said, read, refiner, workbook
from rooms import fill, opened, refine
from stub_model import StubModel

from refiner.errors import ConfigError, JobRunning
from refiner.gate.heldout import clopper_pearson
from refiner.model_views import Keys
from refiner.workspace import Workspace
from refiner.workspace.measuring import STARTED


@dataclass
class Moody:
    """Answers like the usual model; a proposal it was asked about before in the same words gets another judgement."""

    moods: int = 0
    """How many of the gate's questions it answers otherwise when it meets them again."""
    usual: Callable[[str, str], str] = field(default_factory=Answerer)
    met: dict[str, int] = field(default_factory=dict)
    turned: set[str] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def __call__(self, stage: str, user: str) -> str:
        said = self.usual(stage, user)
        given = fields(user)
        if "what was counted" not in given:
            return said
        with self.lock:
            self.met[user] = self.met.get(user, 0) + 1
            if self.met[user] < 2 or (len(self.turned) >= self.moods and user not in self.turned):
                return said
            self.turned.add(user)
        told: dict[str, Any] = json.loads(said)
        told["covered"] = {"answer": "no", "reason": "Nothing.", "citations": []}
        told["harmful"] = {"answer": "yes", "reason": "It harms.", "citations": told["occurs"]["citations"]}
        return json.dumps(told)


@dataclass
class Judged:
    """A refinement with a model over HTTP, ready to be asked again."""

    out: Path
    stub: StubModel
    mood: Moody
    first: dict[str, int]
    """The gate's questions in the refinement itself."""

    def calibrate(self, *more: object) -> Said:
        return refiner("calibrate", "--out", self.out, "--yes", *more)

    @property
    def figures(self) -> dict[str, Any]:
        return read(self.out, "combined/provenance.json")["calibration"]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    folder, mood = tmp_path_factory.mktemp("judged"), Moody()
    with StubModel(answer=for_stub(mood)) as stub:
        endpoint = ("--analyst", "model", "--base-url", stub.url, "--model", "m", "--yes")
        said = refiner("refine", *workbook().write(folder / "in"), "--out", folder / "out", *endpoint)
        assert said.code == 0, said.err
        yield Judged(folder / "out", stub, mood, dict(mood.met))


@pytest.fixture
def steady(judged: Judged) -> Judged:
    """A model that says the same whenever it is asked the same."""
    judged.mood.moods = 0
    judged.mood.turned.clear()
    return judged


@pytest.fixture
def moody(judged: Judged) -> Iterator[Judged]:
    judged.mood.moods, judged.mood.met = 1, dict(judged.first)
    yield judged
    judged.mood.moods = 0
    judged.mood.turned.clear()


def test_a_gate_that_answers_alike_flips_nothing_and_every_question_is_asked_anew(steady: Judged) -> None:
    before = len(steady.stub.chats)
    said = steady.calibrate("--repeats", 2)
    assert said.code == 0, said.err
    asked = steady.figures["asked"]
    assert asked and len(steady.stub.chats) - before == 3 * asked
    assert (steady.figures["identical"]["pairs"], steady.figures["identical"]["flipped"]) == (2 * asked, 0)
    assert steady.figures["shuffled"]["pairs"] == asked
    assert f"the verdict flips in 0 of {2 * asked} (0%" in said.out
    assert re.search(r"3 votes instead of 1 would take about \d+ more calls and [\d,]+ more tokens", said.out)


def tasks(shown: list[list[str]]) -> list[list[str]]:
    return sorted(sorted({name[:6] for name in one}) for one in shown)


def test_a_shuffled_question_shows_runs_of_the_same_tasks_in_another_order(steady: Judged) -> None:
    before = len(steady.stub.chats)
    steady.calibrate()
    asked = [fields(one.body["messages"][-1]["content"])["the runs"] for one in steady.stub.chats[before:]]
    names = [re.findall(r"^## (\S+) ", runs, re.MULTILINE) for runs in asked]
    half = len(names) // 2
    turned, same = names[:half], names[half:]
    assert tasks(turned) == tasks(same)
    assert sorted(map(tuple, turned)) != sorted(map(tuple, same))


def test_flips_are_counted_with_their_interval_and_stand_in_the_report(moody: Judged) -> None:
    said = moody.calibrate()
    figures = moody.figures
    assert figures["identical"]["flipped"] == 1
    assert figures["identical"]["by_criterion"]["harmful"] == 1
    low, high = clopper_pearson(1, figures["identical"]["pairs"])
    assert figures["identical"]["interval"] == [round(low, 4), round(high, 4)]
    assert f"flips in 1 of {figures['identical']['pairs']} (" in said.out and "harmful 1" in said.out
    assert "the verdict flips in 1 of" in (moody.out / "combined" / "report.html").read_text()


def test_a_recording_answers_the_same_without_a_network(steady: Judged, tmp_path: Path) -> None:
    first = json.loads(steady.calibrate("--record", tmp_path / "record", "--json").out)
    again = json.loads(steady.calibrate("--transport", "replay", "--replay-dir", tmp_path / "record", "--json").out)
    assert {**first, "at": ""} == {**again, "at": ""}


def test_by_hand_off_all_questions_wait_at_once(steady: Judged, tmp_path: Path) -> None:
    said = steady.calibrate("--transport", "handoff", "--handoff-dir", tmp_path / "hand")
    asked = steady.figures["asked"]
    assert said.code == 3 and f"{2 * asked} replies are waited for" in said.err
    assert len(list((tmp_path / "hand" / "requests").glob("[0-9a-f]*.md"))) == 2 * asked


def test_on_known_faults_a_model_that_says_yes_to_all_is_caught(steady: Judged) -> None:
    """It supports decoys as well; only what counting refutes it is never asked about."""
    steady.calibrate("--planted")
    gate, alone = steady.figures["planted"], steady.figures["alone"]
    assert (gate["true"], gate["hits"], gate["decoys"]) == (6, 6, 6)
    assert 0 < gate["false_hits"] == alone["false_hits"] < 6


@dataclass
class Asked:
    """The usual model behind the app; `first` happens once, before the next answer to the gate."""

    usual: Callable[[str, str], str] = field(default_factory=Answerer)
    first: Callable[[], object] | None = None
    lock: Lock = field(default_factory=Lock)
    desk: Workspace = field(init=False)
    stub: StubModel = field(init=False)
    name: str = ""
    offline: str = ""

    def __call__(self, stage: str, user: str) -> str:
        if "what was counted" in fields(user):
            with self.lock:
                first, self.first = self.first, None
            if first is not None:
                first()
        return self.usual(stage, user)


def test_without_agreement_nothing_is_sent(steady: Judged) -> None:
    before = len(steady.stub.chats)
    said = refiner("calibrate", "--out", steady.out)
    assert said.code == 2 and "nothing was sent" in said.err and len(steady.stub.chats) == before


def test_a_folder_without_a_result_says_what_to_name(tmp_path: Path) -> None:
    said = refiner("calibrate", "--out", tmp_path)
    assert said.code == 1 and "there is no such database" in said.err


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """The app with a refinement of its own, whose model can be told to do something before it answers the gate."""
    asked = Asked()
    with StubModel(answer=for_stub(asked)) as stub:
        asked.desk = opened(tmp_path_factory.mktemp("app") / "refiner.duckdb")
        asked.desk.agree([stub.url.split("//")[1].split("/")[0]])
        own = fill(asked.desk, workbook())
        asked.name = refine(asked.desk, own, analyst="model", model="m", base_url=stub.url)
        asked.offline = refine(asked.desk, own)
        asked.stub = stub
        yield asked
        asked.desk.close()


def test_in_the_app_it_is_a_job_whose_figures_are_exported(desk: Asked) -> None:
    before = desk.desk.gate(desk.name)
    assert "never calibrated" in before.words[0] and before.calls and "more calls" in before.votes
    asked, seen = len(desk.stub.chats), []
    desk.first = lambda: seen.append(desk.desk.gate(desk.name).job)
    desk.desk.calibrate(desk.name, Keys())
    assert desk.desk.wait(60)
    (at_work,) = seen
    assert at_work.at_work and at_work.total == before.calls
    assert len(desk.stub.chats) - asked == before.calls
    after = desk.desk.gate(desk.name)
    assert after.job is None and "the verdict flips in 0 of" in after.words[0]
    made = desk.desk.exports(desk.name)
    assert json.loads(made.provenance_json)["calibration"]["identical"]["flipped"] == 0
    assert b"the verdict flips in 0 of" in made.report_html


def test_stopped_in_the_app_nothing_of_it_counts(desk: Asked) -> None:
    before, refused = desk.desk.gate(desk.name).words, []

    def stop() -> None:
        with pytest.raises(JobRunning, match="only one is at a time"):
            desk.desk.calibrate(desk.name, Keys())
        with pytest.raises(ConfigError, match="being asked again"):
            desk.desk.remove_corpus("own")
        refused.append(True)
        desk.desk.cancel_calibration(desk.name)

    desk.first = stop
    desk.desk.calibrate(desk.name, Keys())
    assert desk.desk.wait(60) and refused
    after = desk.desk.gate(desk.name)
    assert after.job is not None and after.job.status == "cancelled" and "Nothing of it counts" in after.job.words
    assert after.words == before


def test_a_server_that_ended_meanwhile_left_a_measurement_that_says_so(desk: Asked) -> None:
    desk.desk._room.store.event(desk.name, STARTED, {})
    job = desk.desk.gate(desk.name).job
    assert job is not None and job.status == "interrupted" and "ask again" in job.words


def test_the_offline_gate_is_deterministic_and_supports_no_decoy(desk: Asked) -> None:
    view = desk.desk.gate(desk.offline)
    assert "deterministic" in view.words[0] and (view.calls, view.votes, view.claims) == (0, "", 12)
    desk.desk.calibrate(desk.offline, planted=True)
    assert desk.desk.wait(60)
    told = " ".join(desk.desk.gate(desk.offline).words)
    assert "precision 6 of 6" in told and "recall 6 of 6" in told
    figures = json.loads(desk.desk.exports(desk.offline).provenance_json)["calibration"]
    assert figures["deterministic"] and figures["alone"] is None
