"""Pack B: a list to tidy, extend, sort, look up and mark, beside a second list; six faults in working on them."""

from sample_data.generator.pack import Pack
from sample_data.generator.pack_b.faults import FAULTS, STATED
from sample_data.generator.pack_b.harmless import ACCIDENTS, HABITS
from sample_data.generator.pack_b.skill import SKILL
from sample_data.generator.pack_b.tasks import make_task
from sample_data.generator.pack_b.tools import LIST_TOOLS

PACK = Pack(
    name="directory",
    skill=SKILL,
    task=make_task,
    faults=FAULTS,
    stated=STATED,
    habits=HABITS,
    accidents=ACCIDENTS,
    tools=LIST_TOOLS,
)

__all__ = ["PACK"]
