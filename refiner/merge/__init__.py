"""The edit algebra: changes over a base skill, what overlaps, what is taken, diffs and the way back to the evidence."""

from __future__ import annotations

from refiner.merge import placement
from refiner.merge.algebra import LineRange, Merged, apply, resolve, settle
from refiner.merge.export import export, export_files
from refiner.merge.lineage import provenance
from refiner.merge.overlap import LeftOut, Selection, automatic, conflicts
from refiner.merge.patch import Files, diff, undecided_diff
from refiner.merge.placement import Place, covered, place

__all__ = [
    "Files",
    "LeftOut",
    "LineRange",
    "Merged",
    "Place",
    "Selection",
    "apply",
    "automatic",
    "conflicts",
    "covered",
    "diff",
    "export",
    "export_files",
    "place",
    "placement",
    "provenance",
    "resolve",
    "settle",
    "undecided_diff",
]
