"""Where settings come from: flags, refiner.toml, the environment; and the flags that a command line is built from."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from refiner import config
from refiner.config import RefineConfig
from refiner.errors import ConfigError

ENDPOINT = {"EMBEDDING_BASE_URL": "http://env.example/v1", "EMBEDDING_MODEL": "from-env"}


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "refiner.toml"


def parse(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in config.flags():
        parser.add_argument(*flag.names, **flag.arguments())
    return vars(parser.parse_args(words))


def refused(flags: dict[str, Any], toml: Path | None = None, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        config.load(flags, environ or {}, toml)
    return str(caught.value)


def test_a_flag_beats_the_file_which_beats_the_environment(toml: Path) -> None:
    toml.write_text('embedding_model = "from-file"\nseed = 7\ngate = "failure"\n')
    made, _ = config.load({"seed": "8"}, ENDPOINT, toml)
    assert (made.seed, made.gate, made.embedding_model) == (8, "failure", "from-file")
    assert made.embedding_base_url == "http://env.example/v1"


def test_every_setting_says_where_it_came_from(toml: Path) -> None:
    toml.write_text("window = 9000\n")
    sources = config.sources({"rewards": "r.json"}, ENDPOINT, toml)
    assert sources["binary_rewards"] == "flag --rewards"
    assert sources["window"] == "refiner.toml"
    assert sources["embedding_model"] == "environment variable EMBEDDING_MODEL"
    assert sources["gate"] == "preset standard"
    assert sources["seed"] == "default"
    assert set(sources) == set(config.specs())


def test_an_empty_variable_is_no_setting() -> None:
    made, _ = config.load({}, {"EMBEDDING_BASE_URL": "", "EMBEDDING_MODEL": " "})
    assert made.embedding_model == "packaged"


def test_no_file_is_no_mistake(toml: Path) -> None:
    assert config.load({}, {}, toml) == config.load({}, {}, None) == (RefineConfig(), ())


def test_short_names_work_everywhere_and_paths_of_the_file_start_at_its_folder(toml: Path) -> None:
    toml.write_text('skill = "SKILL.md"\ntraces = ["a.jsonl", "/data/b.jsonl"]\nmin-cluster-size = 4\n')
    made, _ = config.load({"out": "result"}, {}, toml)
    assert made.skill_file == toml.parent / "SKILL.md"
    assert made.traces == (toml.parent / "a.jsonl", Path("/data/b.jsonl"))
    assert (made.min_cluster_size, made.out) == (4, Path("result"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("holdut = 0.1", 'refiner.toml: unknown setting "holdut"; did you mean "holdout"?'),
        ("zzzz = 1", 'refiner.toml: unknown setting "zzzz"'),
        ('seed = "7"', 'refiner.toml: seed: "7" is a text; write a number without quotation marks'),
        ('yes = "true"', 'refiner.toml: yes: "true" is a text; write true or false without quotation marks'),
        ("seed = [1]", "refiner.toml: seed: [1] is not a whole number"),
        ("skill_name = 3", "refiner.toml: skill_name: 3 is not a text"),
        ("[gate]\nq = 1", "refiner.toml: gate: {'q': 1} is not one of off, failure, both"),
        ("seed = ", "refiner.toml: not a valid TOML file"),
        ("skill = 'a'\nskill_file = 'b'", '"skill" and "skill_file" are the same setting'),
        ("embedding_api_key = 'x'", "embedding_api_key: keys come from the environment only"),
        ("llm-api-key = 'x'", "set LLM_API_KEY"),
    ],
)
def test_a_mistake_in_the_file_is_named(toml: Path, text: str, words: str) -> None:
    toml.write_text(text)
    assert words in refused({}, toml)


def test_a_file_of_another_encoding_is_said_to_be_no_toml(toml: Path) -> None:
    toml.write_bytes(b"skill_name = '\xff'")
    assert "refiner.toml: not a valid TOML file" in refused({}, toml)


def test_a_byte_order_mark_is_no_mistake(toml: Path) -> None:
    toml.write_bytes(b"\xef\xbb\xbfseed = 3\n")
    assert config.load({}, {}, toml)[0].seed == 3


def test_the_gate_switched_off_and_chosen_at_once_is_refused_naming_both_places(toml: Path) -> None:
    toml.write_text('gate = "both"\n')
    words = refused({"verify_negative_clusters": False}, toml)
    assert "flag --verify-negative-clusters" in words and "refiner.toml" in words


def test_what_has_no_effect_is_warned_about() -> None:
    _, warnings = config.load({"llm_provider": "any", "model": "m"}, {})
    assert len(warnings) == 2
    assert warnings[0].startswith('llm_provider: "any" is accepted and ignored')
    assert warnings[1].startswith('model: "m" is not used')


def test_keys_come_from_the_environment_and_never_show() -> None:
    keys = config.secrets({"EMBEDDING_API_KEY": "k1", "LLM_API_KEY": "k2", "OPENAI_API_KEY": "k3"})
    assert (keys.embedding_api_key, keys.llm_api_key) == ("k1", "k2")
    assert "k1" not in repr(keys) and "k2" not in repr(keys)
    assert config.secrets({"OPENAI_API_KEY": "k3"}).embedding_api_key is None
    assert config.secrets({"OPENAI_API_KEY": "k3"}).llm_api_key == "k3"


def test_every_setting_has_a_flag_of_its_name_and_the_short_ones_are_aliases() -> None:
    names = {name for flag in config.flags() for name in flag.names}
    assert {"--" + name.replace("_", "-") for name in config.specs()} <= names
    assert {"--skill", "--name", "--traces", "--rewards", "--feedback", "--out", "--include"} <= names


def test_a_parser_built_from_the_flags_gives_what_load_takes() -> None:
    words = (
        "--skill S.md --traces a b --raw-jsonl c --rewards r.json --out o --seed 9 --holdout 0.25 --lower-is-better "
        "--no-use-positive --ablate gating --ablate summary --include undecided --yes"
    )
    made, _ = config.load(parse(*words.split()), {})
    assert made == RefineConfig(
        skill_file="S.md",
        raw_jsonl=["a", "b", "c"],
        binary_rewards="r.json",
        output_dir="o",
        seed=9,
        holdout=0.25,
        lower_is_better=True,
        use_positive=False,
        ablate=["summary", "gating"],
        include_undecided=True,
        yes=True,
    )


def test_a_command_line_that_says_nothing_leaves_every_default() -> None:
    assert config.load(parse(), {}) == (RefineConfig(), ())


def test_a_wrong_value_on_the_command_line_reads_like_any_other() -> None:
    assert refused(parse("--seed", "x")) == 'seed: "x" is not a whole number'
    assert refused(parse("--include", "all")) == 'include: "all" is not known; only "undecided" can be included'
    assert refused({"trace": ["a"]}) == 'unknown setting "trace"; did you mean "traces"?'


def test_the_help_of_every_flag_says_what_it_does_and_its_default() -> None:
    helps = {flag.dest: flag.help for flag in config.flags()}
    assert all(helps.values())
    assert "(default: 42)" in helps["seed"]
    assert "(default: the preset's)" in helps["gate"]
    assert "clustering" in helps["ablate"]
