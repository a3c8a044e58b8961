"""How traces ended: label files, which statement about a trace counts, and joining labels with traces."""

from refiner.labels._files import LabelFile, load_feedback
from refiner.labels._joining import Attached, LabelReport, attach, effective, names_of
from refiner.labels._results import holds_patches
from refiner.labels._scores import SCORES, ScoreRange, by_score, score_ranges, scores_of
from refiner.labels._sources import load_rewards, looks_like_labels
from refiner.labels._suggested import SignKind, Suggestion, accepted, suggest, suggested
from refiner.labels._values import Threshold, rescored, status_of

__all__ = [
    "SCORES",
    "Attached",
    "LabelFile",
    "LabelReport",
    "ScoreRange",
    "SignKind",
    "Suggestion",
    "Threshold",
    "accepted",
    "attach",
    "by_score",
    "effective",
    "holds_patches",
    "load_feedback",
    "load_rewards",
    "looks_like_labels",
    "names_of",
    "rescored",
    "score_ranges",
    "scores_of",
    "status_of",
    "suggest",
    "suggested",
]
