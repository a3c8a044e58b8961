"""Scripted agents on spreadsheet tasks: real files, real tool output, a real checker, planted faults.

    corpus = generate(PACK_A, seed=7)          240 executed runs: traces, rewards, feedback
    heeded(PACK_A, base_text, refined_text)    the faults that a refined skill would keep scripted agents from

Start with `pack.py` (the interface of a fault pack). Nothing here imports the product that learns from the runs.
"""

from sample_data.generator.heeding import heeded
from sample_data.generator.pack import Pack
from sample_data.generator.pack_a import PACK as PACK_A
from sample_data.generator.pack_b import PACK as PACK_B
from sample_data.generator.run import Corpus, generate, problems

__all__ = ["PACK_A", "PACK_B", "Corpus", "Pack", "generate", "heeded", "problems"]
