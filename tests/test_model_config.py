"""Settings of the model analyst: what is needed, in which order it is looked for, and what each preset makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from answering import Scripted

from refiner import config
from refiner.cli.refine import ask
from refiner.config import PRESETS, RefineConfig
from refiner.embedders.packaged import PackagedEmbedder
from refiner.errors import ConfigError
from refiner.ports import Tools
from refiner.registry import analyst
from refiner.strategies import cluster

URL = "http://127.0.0.1:8080/v1"
HTTP: dict[str, Any] = {"analyst": "model", "base_url": URL, "model": "m"}
PAPER: dict[str, Any] = {**HTTP, "preset": "paper", "embedding_base_url": "http://localhost:9/v1"}


def refused(**settings: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        RefineConfig(**settings)
    return str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"analyst": "model"}, "base_url: .*there is no default; set LLM_BASE_URL or --base-url"),
        ({"analyst": "model", "base_url": URL}, "model: .*set LLM_MODEL or --model"),
        ({"analyst": "model", "transport": "handoff"}, "handoff_dir: .*--handoff-dir DIR"),
        ({"analyst": "model", "transport": "replay"}, "replay_dir: .*--replay-dir DIR"),
        ({"analyst": "model", "transport": "replay", "replay_dir": "r", "record": "r"}, "record: .*drop --record"),
        ({**HTTP, "base_url": "localhost:80"}, 'base_url: "localhost:80" is not an address'),
        ({**HTTP, "max_cost": 0}, "max_cost: 0 is out of range; it must be above 0"),
        ({**HTTP, "max_tokens_total": 0}, "max_tokens_total: 0 is out of range"),
        ({**HTTP, "redact": "none"}, 'redact: "none" is not one of standard, strict'),
        ({**HTTP, "transport": "ftp"}, 'transport: "ftp" is not one of http, handoff, replay'),
    ],
)
def test_what_is_missing_or_wrong_is_named_with_its_setting(settings: dict[str, Any], words: str) -> None:
    import re

    assert re.match(words, refused(**settings))


def test_a_password_in_the_address_is_refused_without_repeating_it() -> None:
    words = refused(**{**HTTP, "base_url": "https://user:hunter2@host.example/v1"})
    assert "LLM_API_KEY" in words and "hunter2" not in words


def test_files_in_place_of_an_endpoint_need_no_address_and_no_model_name() -> None:
    made = RefineConfig(analyst="model", transport="handoff", handoff_dir="h")
    assert (made.model, made.gate_model, made.hosts) == ("hand-off", "hand-off", ())
    assert RefineConfig(analyst="model", transport="replay", replay_dir="r").model == "hand-off"


@pytest.mark.parametrize(
    "settings",
    [
        {"preset": "paper"},
        {**HTTP, "preset": "paper"},
        {"preset": "paper", "embedding_base_url": "http://localhost:9/v1"},
        {**PAPER, "embedding_model": "packaged"},
    ],
)
def test_paper_needs_a_model_analyst_and_an_embedding_endpoint_and_says_so_in_one_sentence(
    settings: dict[str, Any],
) -> None:
    words = refused(**settings)
    assert "model analyst" in words and "embedding endpoint" in words and "\n" not in words


def load(flags: dict[str, Any], environ: dict[str, str], toml: Path | None = None) -> RefineConfig:
    return config.load(flags, environ, toml)[0]


def test_the_address_is_looked_for_in_flag_file_and_two_variables_in_this_order(tmp_path: Path) -> None:
    toml = tmp_path / "refiner.toml"
    toml.write_text('base_url = "http://file/v1"\nanalyst = "model"\nmodel = "m"\n')
    bare = tmp_path / "bare.toml"
    bare.write_text('analyst = "model"\nmodel = "m"\n')
    environ = {"LLM_BASE_URL": "http://llm/v1", "OPENAI_BASE_URL": "http://openai/v1"}
    assert load({"base_url": "http://flag/v1"}, environ, toml).model_host == "flag"
    assert load({}, environ, toml).model_host == "file"
    assert load({}, environ, bare).model_host == "llm"
    assert load({}, {"OPENAI_BASE_URL": "http://openai/v1"}, bare).model_host == "openai"
    assert config.sources({}, environ, bare)["base_url"] == "environment variable LLM_BASE_URL"


def test_keys_come_from_the_environment_only_and_never_show(tmp_path: Path) -> None:
    environ = {"LLM_API_KEY": "first", "OPENAI_API_KEY": "second"}
    assert config.secrets(environ).llm_api_key == "first"
    assert config.secrets({"OPENAI_API_KEY": "second"}).llm_api_key == "second"
    assert "first" not in repr(config.secrets(environ))
    toml = tmp_path / "refiner.toml"
    toml.write_text('llm_api_key = "k"\n')
    with pytest.raises(ConfigError, match="keys come from the environment only"):
        load({}, {}, toml)


def test_variables_for_a_model_mean_nothing_to_the_offline_analyst() -> None:
    environ = {"LLM_BASE_URL": URL, "LLM_MODEL": "m"}
    made, warnings = config.load({}, environ)
    assert (made.base_url, made.model, made.hosts, warnings) == (None, None, (), ())


def test_given_settings_that_offline_cannot_use_are_said() -> None:
    _, warnings = config.load({"base_url": URL, "max_cost": 1}, {})
    assert warnings == ("base_url, max_cost: not used; add `--analyst model` to ask a model.",)


def test_a_query_in_the_address_is_kept_from_reports() -> None:
    made = RefineConfig(**{**HTTP, "base_url": f"{URL}?key=hush"})
    assert config.plain(made)["base_url"] == URL and "hush" not in str(config.plain(made))


def test_the_window_is_the_models_where_it_is_known_and_a_set_one_wins() -> None:
    assert RefineConfig(**HTTP).window == 32_000
    assert RefineConfig(**{**HTTP, "model": "openai/gpt-4o-mini"}).window == 128_000
    assert RefineConfig(**{**HTTP, "model": "gpt-4o", "window": 9_000}).window == 9_000
    assert "32,000 tokens are used" in (config.unknown_window_words(RefineConfig(**HTTP)) or "")
    assert config.unknown_window_words(RefineConfig(**{**HTTP, "model": "gpt-4o"})) is None
    assert config.unknown_window_words(RefineConfig()) is None


def test_the_gate_has_the_same_model_unless_it_is_given_its_own() -> None:
    assert RefineConfig(**HTTP).gate_model == "m"
    assert RefineConfig(**HTTP, gate_model="j").gate_model == "j"


@pytest.mark.parametrize(
    "change",
    [{"base_url": "http://other/v1"}, {"record": "r"}, {"max_cost": 5}, {"max_tokens_total": 9}, {"handoff_dir": "h"}],
)
def test_how_a_model_is_reached_is_no_part_of_the_result(change: dict[str, Any]) -> None:
    assert config.result_fields(RefineConfig(**{**HTTP, **change})) == config.result_fields(RefineConfig(**HTTP))


@pytest.mark.parametrize("change", [{"model": "n"}, {"gate_model": "n"}, {"votes": 3}, {"redact": "strict"}])
def test_what_a_model_is_asked_and_which_one_is_part_of_the_result(change: dict[str, Any]) -> None:
    assert config.result_fields(RefineConfig(**{**HTTP, **change})) != config.result_fields(RefineConfig(**HTTP))


@pytest.mark.parametrize(
    ("settings", "words", "times"),
    [
        (HTTP, "nothing was sent to 127.0.0.1:8080; add --yes", 1),
        ({**HTTP, "embedding_base_url": URL, "embedding_model": "e"}, "sent to 127.0.0.1:8080; add", 1),
        ({**HTTP, "embedding_base_url": "http://b/v1", "embedding_model": "e"}, "sent to 127.0.0.1:8080 or b; add", 1),
    ],
)
def test_nothing_leaves_before_somebody_agrees_to_every_host(settings: dict[str, Any], words: str, times: int) -> None:
    with pytest.raises(ConfigError) as caught:
        ask(RefineConfig(**settings))
    assert words in str(caught.value) and str(caught.value).count("127.0.0.1:8080") == times
    ask(RefineConfig(**settings, yes=True))


def test_the_question_names_each_host_and_what_it_receives(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io
    import sys

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    ask(RefineConfig(**HTTP, embedding_base_url="http://b/v1", embedding_model="e"))
    asked = capsys.readouterr().err
    assert "Text of your traces, without secrets, e-mails and home paths, will be sent to 127.0.0.1:8080" in asked
    assert "summaries of them to b for embedding" in asked


# --- the table of presets, cell by cell

TABLE = {
    "keep_spans_without_output": (False, True),
    "long_trace": ("cut the end", "pin feedback"),
    "check_quotes": (False, True),
    "small_n": ("published", "groups"),
    "min_side": (3, 4),
    "embedding_model": ("qwen3-embedding:4b", "packaged"),
    "members": ("first that fit", "medoid then spread"),
    "show_contrast": (False, True),
    "recurrence_pass": (False, True),
    "fold_proposals": (False, True),
    "propose_noise": (False, False),
    "gate": ("failure", "both"),
    "votes": (1, 1),
    "include_undecided": (True, False),
    "merge": ("rewrite", "anchored"),
    "holdout": (0.0, 0.2),
    "holdout_from": (0, 100),
    "audits": ("report", "block"),
}


@pytest.mark.parametrize("name", TABLE)
def test_a_cell_of_the_table_is_as_printed(name: str) -> None:
    assert (getattr(PRESETS["paper"], name), getattr(PRESETS["standard"], name)) == TABLE[name]


def test_the_table_has_no_further_rows() -> None:
    import dataclasses

    assert {field.name for field in dataclasses.fields(PRESETS["paper"])} == {*TABLE, "name"}


def stages(settings: dict[str, Any]) -> dict[str, Any]:
    chosen = RefineConfig(**settings)
    made = Tools(analyst(chosen, Scripted()), PackagedEmbedder())
    return {stage.name: stage for stage in cluster.stages(chosen, made)} | {"analyst": made.analyst, "config": chosen}


def test_the_standard_column_reaches_the_stages() -> None:
    found = stages(HTTP)
    settings = found["analyst"].settings
    assert (settings.keep_spans_without_output, settings.long_trace, settings.check_quotes) == (
        True,
        "pin feedback",
        True,
    )
    assert (settings.members, settings.show_contrast) == ("medoid then spread", True)
    assert (settings.published_gate, settings.votes, settings.merge) == (False, 1, "anchored")
    assert (found["cluster"].small_n, found["cluster"].min_side, found["summarise"].min_side) == ("groups", 4, 4)
    assert found["fold"].folding and "recur" in found
    assert (found["gate"].sides, found["gate"].published) == (("failure", "success"), False)
    assert (found["config"].include_undecided, found["config"].rules.audits) == (False, "block")
    assert found["propose"].min_tasks == 2 and found["fold"].max_undecided is None


def test_the_paper_column_reaches_the_stages() -> None:
    found = stages(PAPER)
    settings = found["analyst"].settings
    assert (settings.keep_spans_without_output, settings.long_trace, settings.check_quotes) == (
        False,
        "cut the end",
        False,
    )
    assert (settings.members, settings.show_contrast) == ("first that fit", False)
    assert (settings.published_gate, settings.votes, settings.merge) == (True, 1, "rewrite")
    assert (found["cluster"].small_n, found["cluster"].min_side, found["summarise"].min_side) == ("published", 3, 3)
    assert not found["fold"].folding and "recur" not in found
    assert (found["gate"].sides, found["gate"].published) == (("failure",), True)
    assert (found["config"].include_undecided, found["config"].rules.audits) == (True, "report")
    assert found["config"].embedding_host == "localhost:9" and found["config"].embedding_model == "qwen3-embedding:4b"
    assert config.held_out_share(found["config"].rules, None, 500) == 0.0


def test_a_model_analyst_is_made_only_with_a_transport() -> None:
    with pytest.raises(ConfigError, match="needs a transport"):
        analyst(RefineConfig(**HTTP))
    assert analyst(RefineConfig()).name == "offline"


def test_few_summaries_are_projected_as_published_and_linked_by_likeness_as_standard() -> None:
    import numpy as np

    from refiner.clustering.params import ClusterParams
    from refiner.clustering.side import cluster_side, projected_from

    rows = np.random.default_rng(0).normal(size=(7, 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for n in range(1, 8):
        names = [f"t{row}" for row in range(n)]
        published = cluster_side(rows[:n], names, names, ClusterParams(small_n="published"))
        grouped = [row for group in published.groups for row in group.members]
        assert sorted([*grouped, *published.unclustered]) == list(range(n))
    assert published.groups and not cluster_side(rows, names, names, ClusterParams()).groups
    assert [projected_from(ClusterParams(small_n=way)) for way in ("published", "groups")] == [3, 8]
