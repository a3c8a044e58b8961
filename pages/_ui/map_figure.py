"""One side of the map as a plotly figure, and the marks of its legend. A figure never depends on what is selected."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np

from pages._ui.map_groups import GREY, NO_GROUP, OTHERS, Category, Group
from pages._ui.text import esc
from refiner.types import Clustering, MapPoint

SVG_LIMIT: Final = 5_000
"""Up to here points are SVG elements; above they are drawn by WebGL, one context a figure.

Names are SVG always: they are few, and WebGL is slow at text.
"""
SAMPLE: Final = 20_000
HEIGHT: Final = 440
_WIDTH, _MARGIN, _LETTER, _LINE, _RING, _MARK = 390, 0.09, 6.4, 13, 9, 4
"""Pixels: `_WIDTH` is a picture on a laptop; on a wider screen names only get more room."""
_NEAR: Final = 2_000
_SHORT: Final = 5
"""A name without its theme is worth a label over this many points."""
_Area = tuple[float, float, float, float]
_PLACES: Final = tuple(
    f"{up} {across}"
    for up, across in (
        *(("top", "center"), ("bottom", "center"), ("middle", "right"), ("middle", "left")),
        *product(("top", "bottom"), ("right", "left")),
    )
)
_GLYPHS: Final = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "triangle-down": "▼",
    "cross": "✚",
    "star": "★",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure and what it shows of how many points."""

    figure: dict[str, Any]
    shown: int
    total: int


def glyph(colour: str, symbol: str) -> str:
    """A mark of the map for the legend and the table; the words beside it say what it means."""
    return f'<span class="rv-glyph" style="color:{colour}" aria-hidden="true">{_GLYPHS[symbol]}</span>'


def legend(mode: str, categories: Sequence[Category]) -> str:
    """What colours, shapes and hollow marks mean, for `st.html`."""
    looks = [] if mode == "cluster" else [(glyph(one.colour, one.symbol), one.name) for one in categories]
    if mode == "cluster":
        looks.append((glyph(GREY, "diamond"), "a run; colour and shape say its group"))
    looks.append(('<span class="rv-glyph" aria-hidden="true">○</span>', f"a run {NO_GROUP}"))
    looks.append(('<b class="rv-ringed">F1</b>', "a group, at its most typical run"))
    return "".join(f"<span>{mark} {esc(words, 70)}</span>" for mark, words in looks)


def sample(points: Sequence[MapPoint], keep: frozenset[str], limit: int) -> tuple[MapPoint, ...]:
    """All points, or a seeded sample of `limit` that holds those in `keep`; the same one each time, in order."""
    if len(points) <= limit:
        return tuple(points)
    places = [place for place, point in enumerate(points) if point.trace_id not in keep]
    chosen = set(random.Random(0).sample(places, max(0, limit - (len(points) - len(places)))))
    return tuple(point for place, point in enumerate(points) if place in chosen or point.trace_id in keep)


def panel(
    clustering: Clustering,
    groups: Sequence[Group],
    categories: Sequence[Category],
    values: Mapping[str, str],
    *,
    webgl: bool = False,
    ink: str = GREY,
    limit: int | None = None,
) -> Panel:
    """The picture of one side: a trace a look, whichever groups share it, hollow marks for runs in no group, and names
    at the medoids.

    `values` gives the category of a run by trace id. `customdata` of every point is the trace id, of a name
    `["group", key]`; `ink` is the colour of the names. Nothing is to be read from a point's number.
    """
    medoids = frozenset(group.cluster.medoid for group in groups)
    points = sample(clustering.picture, medoids, SAMPLE if limit is None else limit)
    kind = "scattergl" if webgl else "scatter"
    loose = set(clustering.unclustered)
    known = {one.name: (one.colour, one.symbol) for one in categories}
    plain = (GREY, "circle")
    sorted_in: dict[tuple[tuple[str, str], bool], list[MapPoint]] = {}
    for point in points:
        value = values.get(point.trace_id, NO_GROUP)
        look = plain if value == NO_GROUP else known.get(value) or known.get(OTHERS, plain)
        sorted_in.setdefault((look, point.trace_id in loose), []).append(point)
    looks = dict.fromkeys([*known.values(), plain])
    traces = [
        _marks(kind, look, sorted_in[look, hollow], hollow)
        for hollow in (True, False)
        for look in looks
        if (look, hollow) in sorted_in
    ]
    at = {point.trace_id: point for point in points}
    rings = [group.colour if group.key in known else GREY for group in groups if group.cluster.medoid in at]
    traces += _names(groups, at, _box(points), ink, rings)
    return Panel({"data": traces, "layout": _layout(_box(points))}, len(points), len(clustering.picture))


def _marks(kind: str, look: tuple[str, str], points: Sequence[MapPoint], hollow: bool) -> dict[str, Any]:
    colour, symbol = look
    marker: dict[str, Any] = {"color": colour, "symbol": f"{symbol}-open" if hollow else symbol}
    marker |= {"size": 6 if hollow else 9, "opacity": 0.75 if hollow else 0.9, "line": {"width": 1.2 if hollow else 0}}
    return {
        "type": kind,
        "mode": "markers",
        "x": np.array([point.x for point in points], dtype=np.float32),
        "y": np.array([point.y for point in points], dtype=np.float32),
        "customdata": np.array([point.trace_id for point in points]),
        "marker": marker,
        "hoverinfo": "none",
        "unselected": {"marker": {"opacity": 0.5}},
    }


def _names(
    groups: Sequence[Group], at: Mapping[str, MapPoint], box: _Box, ink: str, rings: list[str]
) -> list[dict[str, Any]]:
    placed = [group for group in groups if group.cluster.medoid in at]
    if not placed:
        return []
    spots = [at[group.cluster.medoid] for group in placed]
    texts = _labels(placed, spots, box, [box.pixels(point) for point in at.values()])
    marker = {"color": "rgba(0,0,0,0)", "size": 17, "symbol": "circle", "line": {"width": 1.6}}
    marker["line"]["color"] = rings
    return [
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [spot.x for spot in spots],
            "y": [spot.y for spot in spots],
            "text": [esc(text) for text, _ in texts],
            "textposition": [place for _, place in texts],
            "textfont": {"size": 12, "color": ink},
            "customdata": [["group", group.key] for group in placed],
            "marker": marker,
            "hoverinfo": "none",
            "unselected": {"marker": {"opacity": 0.8}, "textfont": {"color": ink}},
        }
    ]


@dataclass(frozen=True, slots=True)
class _Box:
    """The drawn range of both axes."""

    left: float
    right: float
    bottom: float
    top: float

    def pixels(self, point: MapPoint) -> tuple[float, float]:
        across = (point.x - self.left) / (self.right - self.left)
        up = (point.y - self.bottom) / (self.top - self.bottom)
        return across * _WIDTH, (1 - up) * HEIGHT


def _box(points: Sequence[MapPoint]) -> _Box:
    xs, ys = [point.x for point in points] or [0.0], [point.y for point in points] or [0.0]
    wide = (max(xs) - min(xs) or 1.0) * _MARGIN
    high = (max(ys) - min(ys) or 1.0) * _MARGIN
    return _Box(min(xs) - wide, max(xs) + wide, min(ys) - high, max(ys) + high)


def _labels(
    groups: Sequence[Group], spots: Sequence[MapPoint], box: _Box, points: Sequence[tuple[float, float]]
) -> list[tuple[str, str]]:
    """A text and a place for each group: name and theme where there is room, else the name, else nothing.

    No name covers another one or the ring of another group. Groups with a proposal choose first, then larger ones, and
    of the free places the one over the fewest points. The table under the map names those that found no room.
    """
    rings = [_around(box.pixels(spot)) for spot in spots]
    taken: list[_Area] = []
    found: dict[int, tuple[str, str]] = {}
    near = points if len(points) <= _NEAR else ()
    for at in sorted(range(len(groups)), key=lambda one: not groups[one].items):
        group = groups[at]
        theme = f"{group.name} {_short(group.theme)}".strip() if group.items else group.name
        x, y = box.pixels(spots[at])
        full = [*taken, *rings[:at], *rings[at + 1 :]]
        free = [
            (_covered(area, near) + (_SHORT if text != theme else 0), order, text, place, area)
            for order, (text, place) in enumerate(product(dict.fromkeys((theme, group.name)), _PLACES))
            if _fits(area := _area(text, place, x, y), full)
        ]
        if free:
            *_, text, place, area = min(free)
            taken.append(area)
            found[at] = (text, place)
    return [found.get(at, ("", "top center")) for at in range(len(groups))]


def _around(spot: tuple[float, float]) -> _Area:
    x, y = spot
    return x - _RING, y - _RING, x + _RING, y + _RING


def _covered(area: _Area, points: Sequence[tuple[float, float]]) -> int:
    left, top, right, bottom = area
    return sum(left - _MARK <= x <= right + _MARK and top - _MARK <= y <= bottom + _MARK for x, y in points)


def _short(theme: str, limit: int = 22) -> str:
    words = theme.split(", ")
    while len(words) > 1 and len(", ".join(words)) > limit:
        words.pop()
    text = ", ".join(words)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _area(text: str, place: str, x: float, y: float) -> _Area:
    """What a text covers beside a ring, as plotly places it: a corner place starts where the ring ends."""
    up, across = place.split()
    width, gap = len(text) * _LETTER + 4, _RING + 2
    left = {"center": x - width / 2, "right": x + gap, "left": x - gap - width}[across]
    top = {"middle": y - _LINE / 2, "top": y - gap - _LINE, "bottom": y + gap}[up]
    return left, top, left + width, top + _LINE


def _fits(area: _Area, taken: Sequence[_Area]) -> bool:
    left, top, right, bottom = area
    inside = left >= 0 and right <= _WIDTH and top >= 0 and bottom <= HEIGHT
    return inside and not any(left < r and x < right and top < b and y < bottom for x, y, r, b in taken)


def _layout(box: _Box) -> dict[str, Any]:
    axis = {
        "automargin": False,
        "showgrid": False,
        "zeroline": False,
        "showticklabels": False,
        "ticks": "",
        "title": {"text": ""},
    }
    axis |= {"showline": True, "mirror": True, "linewidth": 1, "linecolor": "rgba(128,132,145,.35)"}
    return {
        "height": HEIGHT,
        "margin": {"l": 4, "r": 4, "t": 4, "b": 4},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": "pan",
        "xaxis": {**axis, "range": [box.left, box.right]},
        "yaxis": {**axis, "range": [box.bottom, box.top]},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
    }
