"""Pack A, which ships as the sample: orders, stock, hours and the like; six faults in editing one sheet."""

from sample_data.generator.pack import Pack
from sample_data.generator.pack_a.faults import FAULTS, STATED
from sample_data.generator.pack_a.harmless import ACCIDENTS, HABITS
from sample_data.generator.pack_a.skill import SKILL
from sample_data.generator.pack_a.tasks import make_task

PACK = Pack(
    name="tabular",
    skill=SKILL,
    task=make_task,
    faults=FAULTS,
    stated=STATED,
    habits=HABITS,
    accidents=ACCIDENTS,
)

__all__ = ["PACK"]
