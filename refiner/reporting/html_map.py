"""The map section of an HTML report: both sides beside each other, each with its legend."""

from __future__ import annotations

from collections.abc import Mapping

from refiner.reporting.map_svg import groups_of, legend, side_svg
from refiner.reporting.markup import plural, text
from refiner.reporting.report import Report
from refiner.types import Cluster, Clustering

_SIDES = {"failure": "Failing runs", "success": "Passing runs"}
_LONGEST_NAME = 70


def section(report: Report, names: Mapping[str, str], anchors: Mapping[str, str]) -> str:
    """One figure a side; a group links to the changes that come from it (`anchors` by change id)."""
    drawn = [one for one in report.clusterings if one.picture]
    if not drawn:
        return ""
    named = _names(report, anchors)
    figures = "".join(_figure(one, names, named) for one in drawn)
    words = "runs that look alike lie close; each side has its own picture, and the axes have no meaning"
    return f'<section id="map"><h2>The runs <small>{words}</small></h2><div class="maps">{figures}</div></section>'


def _figure(clustering: Clustering, names: Mapping[str, str], named: Mapping[str, str]) -> str:
    lines = []
    for line in legend(clustering):
        name = f"<b>{line.number}</b> {named[line.group.key]}" if line.group else ""
        lines.append(f"<li>{line.symbol}<span>{name} <i>{text(line.words)}</i></span></li>")
    head = f"{_SIDES[clustering.side]}, {plural(len(clustering.picture), 'trace')}"
    return (
        f"<figure><figcaption>{head}</figcaption>{side_svg(clustering, names)}"
        f'<ul class="legend">{"".join(lines)}</ul></figure>'
    )


def _names(report: Report, anchors: Mapping[str, str]) -> dict[str, str]:
    """What every group is called, with links to its changes, by the key of the group."""
    themes: dict[str, str] = {}
    links: dict[str, list[str]] = {}
    proposals = {one.key: one for one in report.proposals}
    for change_id, proposal_ids in ((change.key, change.proposal_ids) for change in report.changes):
        for group in (group for one in proposal_ids if one in proposals for group in proposals[one].groups):
            anchor = anchors[change_id]
            links.setdefault(group, []).append(f'<a href="#{anchor}">change {anchor.rpartition("-")[2]}</a>')
    for proposal in report.proposals:
        for group in proposal.groups:
            themes.setdefault(group, proposal.theme)
    tasks = {key: " ".join(one.trace.task.split()) for key, one in report.runs.items()}
    clusters = {one.key: one for clustering in report.clusterings for one in groups_of(clustering)}
    return {
        key: ", ".join([_name(one, themes.get(key, ""), tasks), *dict.fromkeys(links.get(key, []))])
        for key, one in clusters.items()
    }


def _name(cluster: Cluster, theme: str, tasks: Mapping[str, str]) -> str:
    """The label or theme of a group, else the request of the run in its middle."""
    name = cluster.label or theme or f"like: {tasks.get(cluster.medoid, cluster.medoid)}"
    return text(name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…")
