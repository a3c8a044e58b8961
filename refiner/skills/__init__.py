"""Skills as bytes: loading, the skeleton, and where headings, lists and front matter lie. Knows nothing of changes."""

from __future__ import annotations

from refiner.skills.frontmatter import FrontMatter, front_matter
from refiner.skills.loading import load
from refiner.skills.markdown import Document, document
from refiner.skills.outline import FRONT_MATTER, Section, body_lines, find_section, sections
from refiner.skills.skeleton import DESCRIPTION_TO_WRITE, is_skeleton, needs_description, skeleton, slug

__all__ = [
    "DESCRIPTION_TO_WRITE",
    "FRONT_MATTER",
    "Document",
    "FrontMatter",
    "Section",
    "body_lines",
    "document",
    "find_section",
    "front_matter",
    "is_skeleton",
    "load",
    "needs_description",
    "sections",
    "skeleton",
    "slug",
]
