"""The configuration of one refinement: every setting with its words and limits, checked as it is made.

No file, no flag, no environment: where values come from is the business of `refiner.config.loading`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn

from refiner import columns
from refiner.columns import HELP as COLUMNS_HELP
from refiner.config.endpoints import UNNAMED, WINDOW, host_of, known_window, refuse_incomplete, without_query
from refiner.config.presets import ABLATIONS, PACKAGED_EMBEDDER, PRESETS, Gate, Preset
from refiner.config.settings import Limit, Spec, coerce, setting, specs_of
from refiner.errors import ConfigError

_AT_LEAST_0 = Limit("0 or more", lambda value: value >= 0)
_AT_LEAST_1 = Limit("1 or more", lambda value: value >= 1)
_AT_LEAST_2 = Limit("2 or more", lambda value: value >= 2)
_SCORE = Limit("between 0 and 1", lambda value: 0 <= value <= 1)
_ABOVE_0 = Limit("above 0", lambda value: value > 0)
_SHARE = Limit("at least 0 and below 1", lambda value: 0 <= value < 1)
_RATE = Limit("above 0 and below 1", lambda value: 0 < value < 1)
_ODD = Limit("an odd number from 1 on", lambda value: value >= 1 and value % 2 == 1)
_WINDOW = Limit("8000 or more (6000 are kept for the reply)", lambda value: value >= 8000)

_PASSES = "1; 0 where lower is better"
WORKERS_MODEL = 16
"""Calls at a time to a model, as published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefineConfig:
    """What to refine, from what, and how. Making one raises ConfigError, naming setting and value, when it cannot work.

    A setting left out (or None) takes its default: a fixed one, or the preset's. Ablations are applied last.
    """

    skill_file: Path | None = setting(
        None,
        "path",
        "the skill to refine: a SKILL.md, its folder, or another markdown file; none starts from a skeleton",
        aliases=("skill",),
        identity=False,
    )
    skill_name: str | None = setting(None, "text", "the skill's name where the file does not say it", aliases=("name",))
    raw_jsonl: tuple[Path, ...] = setting(
        (), "paths", "files or folders with recorded traces", aliases=("traces",), identity=False
    )
    binary_rewards: Path | None = setting(
        None,
        "path",
        "outcomes: JSON, JSONL or CSV by trace id, evaluation results, test reports, or a folder of these",
        aliases=("rewards",),
        identity=False,
    )
    ground_truth_file: Path | None = setting(
        None, "path", "evaluator feedback by trace id (JSON)", aliases=("feedback",), identity=False
    )
    output_dir: Path | None = setting(None, "path", "the folder for the result", aliases=("out",), identity=False)
    limit: int | None = setting(
        None, "whole", "use only so many traces, those with the smallest hash of their id", limit=_AT_LEAST_1
    )
    summarizer: Literal["full_trace", "none"] = setting(
        "full_trace", "choice", "how a trace is summarised; none = its raw text", choices=("full_trace", "none")
    )
    cluster_method: Literal["umap_hdbscan", "single"] = setting(
        "umap_hdbscan",
        "choice",
        "how traces are grouped; single = one group a side",
        choices=("umap_hdbscan", "single"),
    )
    min_cluster_size: int = setting(2, "whole", "the fewest traces of a cluster", limit=_AT_LEAST_2)
    verify_negative_clusters: bool = setting(True, "switch", "no = gate off, whatever the preset says", identity=False)
    use_positive: bool = setting(True, "switch", "learn from traces that passed")
    use_negative: bool = setting(True, "switch", "learn from traces that failed")
    model: str | None = setting(None, "text", "the model of a model analyst")
    gate_model: str | None = setting(None, "text", "the model that judges", derived="the same model")
    base_url: str | None = setting(
        None, "text", "the OpenAI-compatible endpoint of a model analyst; there is no default", identity=False
    )
    transport: Literal["http", "handoff", "replay"] = setting(
        "http",
        "choice",
        "how a model is asked: over http, by files that somebody answers, or from a recording",
        choices=("http", "handoff", "replay"),
        identity=False,
    )
    record: Path | None = setting(None, "path", "a folder that keeps every request and reply", identity=False)
    handoff_dir: Path | None = setting(None, "path", "the folder of requests and replies of handoff", identity=False)
    replay_dir: Path | None = setting(None, "path", "the folder of the recording of replay", identity=False)
    max_cost: float | None = setting(
        None, "number", "the most money a refinement may cost; it stops before that", limit=_ABOVE_0, identity=False
    )
    max_tokens_total: int | None = setting(
        None, "whole", "the most tokens a refinement may take; it stops before that", limit=_AT_LEAST_1, identity=False
    )
    redact: Literal["standard", "strict"] = setting(
        "standard",
        "choice",
        "what is taken out of texts before they are sent: secrets, e-mails, home paths; strict = numbers too",
        choices=("standard", "strict"),
    )
    embedding_model: str = setting(
        None,
        "text",
        f"the embedding model; {PACKAGED_EMBEDDER} = the one that comes with the product",
        preset=True,
    )
    embedding_base_url: str | None = setting(None, "text", "an OpenAI-compatible endpoint for embeddings")
    llm_provider: str | None = setting(None, "text", "accepted and ignored", identity=False)
    preset: str = setting("standard", "choice", "the way of working", choices=tuple(PRESETS))
    analyst: Literal["offline", "model"] = setting(
        "offline", "choice", "who reads the evidence; offline needs no key and no network", choices=("offline", "model")
    )
    task_key: str | None = setting(None, "text", "the field of a record that names its task")
    score: str | None = setting(None, "text", "the score of the traces that says how they ended", identity=False)
    columns: str | None = setting(None, "text", COLUMNS_HELP, identity=False)
    pass_at: float = setting(None, "number", "the score that passes (0 to 1 without --score)", derived=_PASSES)
    lower_is_better: bool = setting(False, "switch", "scores: lower is better")
    seed: int = setting(42, "whole", "the seed of everything drawn by chance", limit=_AT_LEAST_0)
    holdout: float | None = setting(
        None, "number", "the share of tasks held out", limit=_SHARE, derived="0.2 from 100 known tasks on, else 0"
    )
    include_undecided: bool = setting(None, "switch", "put undecided changes into the proposed skill", preset=True)
    workers: int = setting(
        None,
        "whole",
        "steps at a time",
        limit=_AT_LEAST_1,
        identity=False,
        derived=f"1 for the offline analyst, {WORKERS_MODEL} for a model",
    )
    ablate: tuple[str, ...] = setting(
        (), "names", "switch one part of the method off", choices=tuple(ABLATIONS), identity=False
    )
    db: Path | None = setting(None, "path", "the database file", identity=False, derived="in the output folder")
    yes: bool = setting(False, "switch", "answer yes to every question", identity=False)
    gate: Gate = setting(None, "choice", "which sides the gate checks", choices=("off", "failure", "both"), preset=True)
    contrast: Literal["measured", "judge"] = setting(
        "measured",
        "choice",
        "what cannot be measured: left so, or judge = a model says yes or no to single runs, their outcome hidden",
        choices=("measured", "judge"),
    )
    gate_q: float = setting(0.05, "number", "the false discovery rate up to which a contrast counts", limit=_RATE)
    edit_budget: int | None = setting(
        None, "whole", "the most proposals that may become changes, the strongest first", limit=_AT_LEAST_1
    )
    max_undecided: int = setting(20, "whole", "the most proposals without a measured cause", limit=_AT_LEAST_0)
    window: int = setting(
        None,
        "whole",
        "tokens that a model reads at once",
        limit=_WINDOW,
        derived=f"the model's if known, else {WINDOW}",
    )
    votes: int = setting(None, "whole", "judgements per proposal", limit=_ODD, preset=True)

    def __post_init__(self) -> None:
        for name, spec in specs().items():
            self._set(name, coerce(spec, getattr(self, name)))
        refuse_incomplete(self)
        self._take_from_preset()
        self._ablate()
        self._check_together()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _take_from_preset(self) -> None:
        unnamed_endpoint = self.embedding_base_url is not None and self.rules.embedding_model == PACKAGED_EMBEDDER
        derived = {
            "gate": self.rules.gate,
            "votes": self.rules.votes,
            "include_undecided": self.rules.include_undecided,
            "pass_at": 0.0 if self.lower_is_better else 1.0,
            "workers": WORKERS_MODEL if self.analyst == "model" else 1,
            "model": UNNAMED if self.analyst == "model" else None,
            "window": known_window(self.model) or WINDOW,
            "embedding_model": "" if unnamed_endpoint else self.rules.embedding_model,
        }
        for name, value in derived.items():
            if getattr(self, name) is None:
                self._set(name, value)
        self._set("gate_model", self.gate_model or self.model)
        if not self.verify_negative_clusters:
            self._set("gate", "off")

    def _ablate(self) -> None:
        for name in self.ablate:
            for setting_name, value in ABLATIONS[name].items():
                self._set(setting_name, value)

    def _check_together(self) -> None:
        columns.read(self.columns)
        if self.score is None and not _SCORE.holds(self.pass_at):
            raise ConfigError(f"pass_at: {self.pass_at!r} is out of range; it must be {_SCORE.words}")
        if not (self.use_positive or self.use_negative):
            raise ConfigError("use_positive, use_negative: both are off, so there is nothing to learn from")
        host = None if self.embedding_base_url is None else _embedding_host(self.embedding_base_url)
        _ = self.model_host
        if not self.embedding_model:
            raise ConfigError(
                f"embedding_model: an endpoint is set ({host}) but no model; set EMBEDDING_MODEL or --embedding-model "
                f"({PACKAGED_EMBEDDER} = the model that comes with the product)"
            )
        if host is None and self.embedding_model != PACKAGED_EMBEDDER:
            raise ConfigError(
                f'embedding_model: "{self.embedding_model}" needs an endpoint and none is set; set EMBEDDING_BASE_URL '
                f"or --embedding-base-url, or use `--embedding-model {PACKAGED_EMBEDDER}`"
            )

    @property
    def rules(self) -> Preset:
        """What the preset fixes beyond the settings of this class."""
        return PRESETS[self.preset]

    @property
    def traces(self) -> tuple[Path, ...]:
        """The given trace files; raises ConfigError when there are none."""
        return self.raw_jsonl or _missing("raw_jsonl: no traces were given; add --traces PATH")

    @property
    def out(self) -> Path:
        """The output folder; raises ConfigError when none was given."""
        return self.output_dir or _missing("output_dir: no output folder was given; add --out DIR")

    @property
    def embedding_host(self) -> str | None:
        """The host that receives texts to embed, or None when nothing leaves the machine."""
        if self.embedding_model == PACKAGED_EMBEDDER or self.embedding_base_url is None:
            return None
        return _embedding_host(self.embedding_base_url)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host that receives text of traces or of their summaries, each once."""
        return tuple(dict.fromkeys(host for host in (self.model_host, self.embedding_host) if host))

    @property
    def model_host(self) -> str | None:
        """The host that receives text of traces, or None when no model is asked over the network."""
        if self.analyst != "model" or self.transport != "http" or self.base_url is None:
            return None
        return host_of(self.base_url, "base_url", "LLM_API_KEY")


def _missing(message: str) -> NoReturn:
    raise ConfigError(message)


def _embedding_host(url: str) -> str:
    return host_of(url, "embedding_base_url", "EMBEDDING_API_KEY")


@cache
def specs() -> dict[str, Spec]:
    """Every setting by name, in the order of the class."""
    return specs_of(RefineConfig)


def plain(config: RefineConfig) -> dict[str, Any]:
    """The whole configuration as JSON-able values, for reports."""
    found = {name: _plain(getattr(config, name)) for name in specs()}
    return found | {name: without_query(found[name]) for name in ("base_url", "embedding_base_url")}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.as_posix() if isinstance(value, Path) else value


def result_fields(config: RefineConfig) -> dict[str, str]:
    """The settings that can change a result, as texts, after presets and ablations: equal fields, equal results.

    Paths are not among them (the content of the files is part of the identity, their place is not), nor is what a
    chosen ablation or `verify_negative_clusters` has already been turned into.
    """
    kept = {name: getattr(config, name) for name, spec in specs().items() if spec.identity}
    if config.analyst == "offline":
        for name in ("model", "gate_model", "votes", "redact"):
            del kept[name]
    if config.contrast == "measured":
        del kept["contrast"]  # what was refined before there was a choice stays the same refinement
    if config.embedding_host is None:
        del kept["embedding_base_url"]
    return {name: _word(value) for name, value in kept.items()}


def _word(value: Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
