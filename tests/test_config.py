"""Settings: what is accepted, what is refused and in which words, and what a preset or an ablation turns them into."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest

from refiner import config
from refiner.config import ABLATIONS, PRESETS, RefineConfig
from refiner.errors import ConfigError


def refused(**settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        RefineConfig(**settings)
    return str(caught.value)


def test_a_user_of_the_published_system_keeps_the_field_names() -> None:
    made = RefineConfig(
        skill_file="skills/sheets/SKILL.md",
        skill_name="sheets",
        raw_jsonl=["a.jsonl", Path("b.jsonl")],
        binary_rewards="rewards.json",
        ground_truth_file="feedback.json",
        output_dir="out",
        limit=10,
        summarizer="none",
        cluster_method="single",
        min_cluster_size=3,
        verify_negative_clusters=True,
        use_positive=False,
        use_negative=True,
        model=None,
        embedding_model="some-model",
        embedding_base_url="http://127.0.0.1:8080/v1",
        llm_provider="anything",
    )
    assert made.skill_file == Path("skills/sheets/SKILL.md")
    assert made.raw_jsonl == made.traces == (Path("a.jsonl"), Path("b.jsonl"))
    assert made.out == Path("out")
    assert (made.min_cluster_size, made.use_positive, made.embedding_host) == (3, False, "127.0.0.1:8080")


def test_the_defaults_are_those_of_the_standard_preset_and_stay_on_the_machine() -> None:
    made = RefineConfig()
    assert (made.preset, made.analyst, made.seed, made.min_cluster_size, made.gate_q) == (
        "standard",
        "offline",
        42,
        2,
        0.05,
    )
    assert (made.gate, made.votes, made.include_undecided, made.max_undecided) == ("both", 1, False, 20)
    assert (made.summarizer, made.cluster_method, made.window) == ("full_trace", "umap_hdbscan", 32000)
    assert made.embedding_host is None and made.embedding_model == "packaged"
    assert made.holdout is None


def test_a_score_passes_from_one_on_or_at_zero_where_lower_is_better() -> None:
    assert RefineConfig().pass_at == 1.0
    assert RefineConfig(lower_is_better=True).pass_at == 0.0
    assert RefineConfig(lower_is_better=True, pass_at=0.25).pass_at == 0.25


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("seed", "42x", 'seed: "42x" is not a whole number'),
        ("seed", 1.5, "seed: 1.5 is not a whole number"),
        ("seed", True, "seed: True is not a whole number"),
        ("seed", -1, "seed: -1 is out of range; it must be 0 or more"),
        ("limit", 0, "limit: 0 is out of range; it must be 1 or more"),
        ("min_cluster_size", 1, "min_cluster_size: 1 is out of range; it must be 2 or more"),
        ("holdout", 1, "holdout: 1 is out of range; it must be at least 0 and below 1"),
        ("holdout", -0.1, "holdout: -0.1 is out of range; it must be at least 0 and below 1"),
        ("holdout", float("nan"), "holdout: nan is not a number"),
        ("pass_at", 1.01, "pass_at: 1.01 is out of range; it must be between 0 and 1"),
        ("gate_q", 0, "gate_q: 0 is out of range; it must be above 0 and below 1"),
        ("votes", 2, "votes: 2 is out of range; it must be an odd number from 1 on"),
        ("workers", 0, "workers: 0 is out of range; it must be 1 or more"),
        ("window", 7999, "window: 7999 is out of range; it must be 8000 or more (6000 are kept for the reply)"),
        ("use_positive", 1, "use_positive: 1 is neither true nor false"),
        ("use_positive", "maybe", 'use_positive: "maybe" is neither true nor false'),
        ("skill_file", 3, "skill_file: 3 is not a path"),
        ("raw_jsonl", ["a", 3], "raw_jsonl: 3 is not a path"),
        ("task_key", " ", 'task_key: " " is an empty text'),
        ("skill_name", 7, "skill_name: 7 is not a text"),
        ("gate", "of", 'gate: "of" is not one of off, failure, both; did you mean "off"?'),
        (
            "cluster_method",
            "umap",
            'cluster_method: "umap" is not one of umap_hdbscan, single; did you mean "umap_hdbscan"?',
        ),
        (
            "ablate",
            ["gating", "sumary"],
            'ablate: "sumary" is not one of summary, clustering, positive, negative, gating; did you mean "summary"?',
        ),
        ("embedding_base_url", "localhost:80", '"localhost:80" is not an address'),
        ("embedding_base_url", "http://[bad", '"http://[bad" is not an address'),
    ],
)
def test_a_bad_value_is_named_with_its_setting(name: str, value: Any, words: str) -> None:
    assert words in refused(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("holdout", 0), ("holdout", 0.99), ("max_undecided", 0), ("pass_at", 0)])
def test_the_edge_of_a_range_is_inside(name: str, value: float) -> None:
    assert getattr(RefineConfig(**{name: value}), name) == value


def test_paper_without_a_model_analyst_is_refused_in_one_sentence() -> None:
    words = refused(preset="paper")
    assert "model analyst" in words and "embedding endpoint" in words and "\n" not in words


def test_an_endpoint_without_a_model_and_a_model_without_an_endpoint_name_the_missing_setting() -> None:
    assert "EMBEDDING_MODEL" in refused(embedding_base_url="https://host.example/v1")
    assert "EMBEDDING_BASE_URL" in refused(embedding_model="some-model")


def test_the_packaged_model_wins_over_an_endpoint_that_happens_to_be_set() -> None:
    made = RefineConfig(embedding_base_url="https://host.example/v1", embedding_model="packaged")
    assert made.embedding_host is None


def test_a_password_in_an_address_is_refused_without_repeating_it() -> None:
    words = refused(embedding_base_url="https://user:hunter2@host.example/v1", embedding_model="m")
    assert "EMBEDDING_API_KEY" in words and "hunter2" not in words


def test_nothing_to_learn_from_is_refused_however_it_came_about() -> None:
    assert "use_negative" in refused(use_positive=False, use_negative=False)
    assert "use_negative" in refused(ablate=("positive", "negative"))


def test_missing_inputs_are_said_when_they_are_needed() -> None:
    made = RefineConfig()
    with pytest.raises(ConfigError, match="--traces"):
        _ = made.traces
    with pytest.raises(ConfigError, match="--out"):
        _ = made.out


@pytest.mark.parametrize("name", sorted(ABLATIONS))
def test_each_ablation_changes_its_one_setting_and_no_other(name: str) -> None:
    expected = {
        "summary": ("summarizer", "none"),
        "clustering": ("cluster_method", "single"),
        "positive": ("use_positive", False),
        "negative": ("use_negative", False),
        "gating": ("gate", "off"),
    }
    before, after = config.plain(RefineConfig()), config.plain(RefineConfig(ablate=(name,)))
    changed = {key: after[key] for key in after if after[key] != before[key] and key != "ablate"}
    assert changed == dict([expected[name]])


def test_ablations_have_one_order_and_no_doubles() -> None:
    assert RefineConfig(ablate=["gating", "summary", "gating"]).ablate == ("summary", "gating")


def test_the_published_switch_turns_the_gate_off_and_its_default_leaves_it() -> None:
    assert RefineConfig(verify_negative_clusters=False).gate == "off"
    assert RefineConfig(verify_negative_clusters=True, gate="failure").gate == "failure"


def test_two_ways_to_say_the_same_have_the_same_identity() -> None:
    off = config.result_fields(RefineConfig(gate="off"))
    assert config.result_fields(RefineConfig(ablate=["gating"])) == off
    assert config.result_fields(RefineConfig(verify_negative_clusters=False)) == off


@pytest.mark.parametrize(
    "change",
    [
        {"output_dir": "elsewhere"},
        {"workers": 7},
        {"db": "x.duckdb"},
        {"yes": True},
        {"llm_provider": "x"},
        {"model": "unused"},
        {"votes": 3},
        {"raw_jsonl": ["moved/traces.jsonl"]},
        {"embedding_base_url": "http://127.0.0.1/v1", "embedding_model": "packaged"},
    ],
)
def test_what_cannot_change_a_result_is_not_part_of_its_identity(change: dict[str, Any]) -> None:
    assert config.result_fields(RefineConfig(**change)) == config.result_fields(RefineConfig())


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"limit": 5},
        {"holdout": 0.0},
        {"gate": "failure"},
        {"gate_q": 0.1},
        {"include_undecided": True},
        {"use_positive": False},
        {"summarizer": "none"},
        {"min_cluster_size": 3},
        {"task_key": "id"},
        {"max_undecided": 3},
        {"window": 9000},
        {"embedding_base_url": "http://127.0.0.1/v1", "embedding_model": "m"},
    ],
)
def test_what_can_change_a_result_is_part_of_its_identity(change: dict[str, Any]) -> None:
    changed = config.result_fields(RefineConfig(**change))
    assert changed != config.result_fields(RefineConfig())
    assert all(isinstance(value, str) for value in changed.values())


def test_a_configuration_is_a_value() -> None:
    made = RefineConfig(raw_jsonl=["a"], ablate=["gating"])
    assert pickle.loads(pickle.dumps(made)) == made
    assert hash(made) == hash(RefineConfig(raw_jsonl=["a"], ablate=["gating"]))
    assert dataclasses.replace(made, seed=1, ablate=()).seed == 1


def test_the_presets_differ_where_the_publication_and_this_product_do() -> None:
    paper, standard = PRESETS["paper"], PRESETS["standard"]
    assert (paper.gate, standard.gate) == ("failure", "both")
    assert (paper.min_side, standard.min_side) == (3, 4)
    assert (paper.include_undecided, standard.include_undecided) == (True, False)
    assert (paper.merge, standard.merge) == ("rewrite", "anchored")
    assert (paper.embedding_model, standard.embedding_model) == ("qwen3-embedding:4b", "packaged")
    assert (paper.recurrence_pass, standard.recurrence_pass) == (False, True)
    assert paper.propose_noise is standard.propose_noise is False


def test_tasks_are_held_out_from_a_hundred_known_ones_on_unless_a_share_is_given() -> None:
    standard, paper = PRESETS["standard"], PRESETS["paper"]
    assert [config.held_out_share(standard, None, known) for known in (99, 100)] == [0.0, 0.2]
    assert config.held_out_share(standard, 0.5, 3) == 0.5
    assert config.held_out_share(standard, 0.0, 500) == 0.0
    assert config.held_out_share(paper, None, 500) == 0.0
