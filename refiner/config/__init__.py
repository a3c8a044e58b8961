"""The configuration of a refinement: its settings, presets and ablations, and where their values come from."""

from refiner.config.endpoints import UNNAMED, asked_models, charged_models, unknown_window_words
from refiner.config.flags import Flag, flags
from refiner.config.loading import Secrets, load, secrets, sources, warnings
from refiner.config.model import RefineConfig, plain, result_fields, specs
from refiner.config.presets import ABLATIONS, PACKAGED_EMBEDDER, PRESETS, Preset, held_out_share

__all__ = [
    "ABLATIONS",
    "PACKAGED_EMBEDDER",
    "PRESETS",
    "UNNAMED",
    "Flag",
    "Preset",
    "RefineConfig",
    "Secrets",
    "asked_models",
    "charged_models",
    "flags",
    "held_out_share",
    "load",
    "plain",
    "result_fields",
    "secrets",
    "sources",
    "specs",
    "unknown_window_words",
    "warnings",
]
