"""The database of Skill Refiner: one DuckDB file with one owner. Nothing outside this package may import duckdb.

No domain rule lives here beyond what counts as a new trace; what an outcome or a verdict means is for others to say.
"""

from storage.corpora import Marks
from storage.decisions import Opened
from storage.ledger import AddReport
from storage.refinements import Event, Job, JobStatus
from storage.store import Store

__all__ = ["AddReport", "Event", "Job", "JobStatus", "Marks", "Opened", "Store"]
