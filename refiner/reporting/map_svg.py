"""The map of the runs as inline SVG, drawn from the stored coordinates: one mark a trace, one picture a side.

Colours come from the style sheet of the document (`g0` to `g7`), shapes repeat what they say. No text of a run goes
in unescaped, nothing is loaded, nothing is computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refiner.reporting.markup import attribute, plural
from refiner.types import Cluster, Clustering

SHAPES = 8
"""Groups with a colour and a shape of their own, the largest first; the rest share one."""
_WIDTH, _HEIGHT, _MARGIN = 460.0, 340.0, 14.0
_CIRCLE = "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"
_PATHS = (
    _CIRCLE,
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-4.8l4.6 8h-9.2z",
    "m0-5.2l4.6 5.2l-4.6 5.2l-4.6-5.2z",
    "m0 4.8l4.6-8h-9.2z",
    "m-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "m0-5l4.8 3.5l-1.8 5.6h-6l-1.8-5.6z",
    "m-4.4-2.2l2.2-2.2l2.2 2.2l2.2-2.2l2.2 2.2l-2.2 2.2l2.2 2.2l-2.2 2.2l-2.2-2.2l-2.2 2.2l-2.2-2.2l2.2-2.2z",
)
_REACHES = (12.0, 20.0, 28.0)
_AROUND = ((0, -1), (0, 1), (1, 0), (-1, 0), (0.8, -0.8), (-0.8, -0.8), (0.8, 0.8), (-0.8, 0.8))
_SMALL = "m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0-4.8 0z"


@dataclass(frozen=True, slots=True)
class Legend:
    """One line of the legend: `symbol` is a small SVG, `group` is absent for the marks that several share."""

    symbol: str
    number: int | None
    group: Cluster | None
    words: str


def groups_of(clustering: Clustering) -> list[Cluster]:
    """The clusters of a side, largest first; what merely recurs is drawn on no map."""
    found = [one for one in clustering.clusters if one.kind == "cluster"]
    return sorted(found, key=lambda one: (-len(one.members), one.key))


def legend(clustering: Clustering) -> list[Legend]:
    """What the marks of a side stand for."""
    groups = groups_of(clustering)
    lines = [
        Legend(
            _symbol(f"g{at}", _PATHS[at]),
            at + 1,
            one,
            f"{plural(len(one.members), 'run')}, {plural(one.tasks, 'task')}",
        )
        for at, one in enumerate(groups[:SHAPES])
    ]
    small = groups[SHAPES:]
    if small:
        runs = plural(sum(len(one.members) for one in small), "run")
        lines.append(Legend(_symbol("small", _SMALL), None, None, f"{plural(len(small), 'smaller group')}, {runs}"))
    if clustering.unclustered:
        runs = plural(len(clustering.unclustered), "run")
        lines.append(Legend(_symbol("none", _CIRCLE), None, None, f"{runs} in no group: like no other closely enough"))
    return lines


def side_svg(clustering: Clustering, names: Mapping[str, str]) -> str:
    """The picture of one side; `names` are the external ids by trace id."""
    places = _places(clustering)
    groups = groups_of(clustering)
    looks = {member: _look(at) for at, one in reversed(list(enumerate(groups))) for member in one.members}
    order = sorted(places, key=lambda trace_id: (looks.get(trace_id, ("", "", 0))[2], names.get(trace_id, trace_id)))
    marks = "".join(_mark(places[one], looks.get(one), names.get(one, one)) for one in order)
    tags = _tags([(at + 1, places[one.medoid]) for at, one in enumerate(groups[:SHAPES]) if one.medoid in places])
    words = f"Map of the {clustering.side} side: {plural(len(places), 'run')}, {plural(len(groups), 'group')}"
    head = f'<svg class="map" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img" aria-label="{attribute(words)}">'
    return f"{head}{marks}{tags}</svg>"


def _tags(numbered: Sequence[tuple[int, tuple[float, float]]]) -> str:
    """The numbers of the groups beside their middles, the larger group first; none lies on another one."""
    taken: list[tuple[float, float]] = []
    for _, (x, y) in numbered:
        spots = [(x + right * reach, y + 4 + down * reach) for reach in _REACHES for right, down in _AROUND]
        taken.append(next((spot for spot in spots if all(_apart(spot, one) for one in taken)), spots[0]))
    return "".join(
        f'<text class="tag" x="{x:.1f}" y="{y:.1f}">{number}</text>'
        for (number, _), (x, y) in zip(numbered, taken, strict=True)
    )


def _apart(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Whether two numbers of one digit do not touch."""
    return abs(one[0] - other[0]) >= 11 or abs(one[1] - other[1]) >= 12


def _look(at: int) -> tuple[str, str, int]:
    """Class, shape and layer of a mark: the large groups lie on top."""
    return (f"g{at}", _PATHS[at], 2) if at < SHAPES else ("small", _SMALL, 1)


def _mark(place: tuple[float, float], look: tuple[str, str, int] | None, name: str) -> str:
    kind, path, _ = look or ("none", _CIRCLE, 0)
    x, y = place
    return f'<path class="m {kind}" d="M{x:.1f} {y:.1f}{path}"><title>{attribute(name)}</title></path>'


def _symbol(kind: str, path: str) -> str:
    return f'<svg class="key" viewBox="-7 -7 14 14" aria-hidden="true"><path class="k {kind}" d="M0 0{path}"/></svg>'


def _places(clustering: Clustering) -> dict[str, tuple[float, float]]:
    """Where each run lies in the picture; both axes share one scale, as the distances do."""
    xs = [point.x for point in clustering.picture]
    ys = [point.y for point in clustering.picture]
    if not xs:
        return {}
    scale = min((_WIDTH - 2 * _MARGIN) / (_extent(xs) or 1), (_HEIGHT - 2 * _MARGIN) / (_extent(ys) or 1))
    middle = ((min(xs) + max(xs)) / 2, (min(ys) + max(ys)) / 2)
    return {
        point.trace_id: (_WIDTH / 2 + (point.x - middle[0]) * scale, _HEIGHT / 2 - (point.y - middle[1]) * scale)
        for point in clustering.picture
    }


def _extent(values: Sequence[float]) -> float:
    return max(values) - min(values)
