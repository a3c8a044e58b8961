"""The map page: pictures that do not depend on what is picked, the card, the table that holds the same, and colours."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pages._ui import map_figure, map_groups, map_panels, session
from refiner.types import MapPoint
from tests.scripted_desk import ScriptedDesk, app, html_of, labels_of, report, words_of


@pytest.fixture
def desk() -> ScriptedDesk:
    return ScriptedDesk(report())


def figures(test: Any) -> list[Any]:
    return [json.loads(one.proto.spec) for one in test.get("plotly_chart")]


def ids_in(figure: Any) -> list[str]:
    return [point for trace in figure["data"] for point in trace["customdata"] if isinstance(point, str)]


def grouped(desk: ScriptedDesk) -> dict[str, tuple[map_groups.Group, ...]]:
    return map_groups.groups(desk.made, desk.review("r1"))


def picture(desk: ScriptedDesk, mode: str = "cluster", **options: Any) -> map_figure.Panel:
    by_side = grouped(desk)
    traces = {one.trace.id: one.trace for one in desk.made.snapshot.training}
    valued = map_groups.values(mode, by_side, traces)
    looks = map_groups.categories(mode, by_side, valued)
    return map_figure.panel(desk.made.clusterings[0], by_side["failure"], looks, valued, **options)


def test_each_side_has_a_picture_of_its_own_with_every_run_once(desk, monkeypatch):
    test = app(desk, "map", monkeypatch, refinement="r1")
    assert not test.exception
    failures, successes = figures(test)
    by_status: dict[str, set[str]] = {"fail": set(), "pass": set()}
    for one in desk.made.snapshot.training:
        by_status[one.outcome.status].add(one.trace.id)
    assert (set(ids_in(failures)), len(ids_in(failures))) == (by_status["fail"], 6)
    assert (set(ids_in(successes)), len(ids_in(successes))) == (by_status["pass"], 6)


def test_runs_in_no_group_are_small_hollow_and_in_the_legend(desk, monkeypatch):
    test = app(desk, "map", monkeypatch, refinement="r1")
    loose = desk.made.clusterings[0].unclustered
    hollow = [one for one in figures(test)[0]["data"] if str(one["marker"]["symbol"]).endswith("-open")]
    assert [point for one in hollow for point in one["customdata"]] == list(loose)
    solid = figures(test)[0]["data"][1]
    assert hollow[0]["marker"]["size"] < solid["marker"]["size"]
    assert "a run in no group" in words_of(test)


def test_a_group_is_named_at_its_most_typical_run(desk):
    group = grouped(desk)["failure"][0]
    names = picture(desk).figure["data"][-1]
    assert names["customdata"] == [["group", group.key]]
    assert names["text"] == ["F1 saving, page"]
    medoid = next(one for one in desk.made.clusterings[0].picture if one.trace_id == group.cluster.medoid)
    assert (names["x"], names["y"]) == ([medoid.x], [medoid.y])


def test_the_figure_does_not_depend_on_what_is_picked(desk, monkeypatch):
    plain = figures(app(desk, "map", monkeypatch, refinement="r1"))
    group = grouped(desk)["failure"][0]
    for pick in (group.key, f"run:{group.cluster.medoid}", "gone"):
        assert figures(app(desk, "map", monkeypatch, refinement="r1", pick=pick)) == plain


@pytest.mark.parametrize(("data", "pick"), [("abc", "run:abc"), (["group", "k1"], "k1")])
def test_a_click_writes_the_id_into_the_address(monkeypatch, data, pick):
    put: dict[str, str] = {}
    monkeypatch.setattr(session, "put", lambda **given: put.update(given))
    points = [{"customdata": data, "point_index": 3}]
    state = {"c": {"selection": {"points": points}}, "void": {"selection": {"points": []}}}
    monkeypatch.setattr(map_panels, "st", SimpleNamespace(session_state=state))
    map_panels.clicked("void")
    assert put == {}
    map_panels.clicked("c")
    assert put == {"pick": pick}


def test_the_table_shows_a_group_in_the_card_with_all_that_is_known(desk, monkeypatch):
    test = app(desk, "map", monkeypatch, refinement="r1")
    group = grouped(desk)["failure"][0]
    test.button(key=f"map_show_{group.key}").click().run()
    assert test.query_params["pick"] == group.key
    words = " ".join(words_of(test).split())
    assert "5 runs · 4 tasks · stability 0.90 firm" in words
    assert "supported, measured" in words
    assert {"fail\\-0", "fail\\-1", "fail\\-4"} <= set(labels_of(test))


def test_review_this_leads_to_the_change(desk, monkeypatch):
    went: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr(session, "go", lambda page, **params: went.append((page, params)))
    group = grouped(desk)["failure"][0]
    test = app(desk, "map", monkeypatch, refinement="r1", pick=group.key)
    change = group.items[0].change_id
    test.button(key=f"map_review_card_{change}").click().run()
    test.button(key=f"map_go_{group.key}").click().run()
    assert went == [("review", {"change": change})] * 2


def test_the_card_of_a_run_names_the_run_and_its_group(desk, monkeypatch):
    member = grouped(desk)["failure"][0].cluster.members[2]
    words = words_of(app(desk, "map", monkeypatch, refinement="r1", pick=f"run:{member}"))
    assert "fail-2" in words
    assert "F1: saving, page" in words


def test_a_run_in_no_group_says_so(desk, monkeypatch):
    loose = desk.made.clusterings[0].unclustered[0]
    words = words_of(app(desk, "map", monkeypatch, refinement="r1", pick=f"run:{loose}"))
    assert "This run is in no group" in words


def test_a_link_to_what_is_gone_says_so(desk, monkeypatch):
    assert "is not in this refinement" in words_of(app(desk, "map", monkeypatch, refinement="r1", pick="gone"))


def test_the_table_holds_what_the_pictures_show(desk, monkeypatch):
    words = " ".join(words_of(app(desk, "map", monkeypatch, refinement="r1")).split())
    table = words[words.index("The same as a table") :]
    assert "F1 saving, page 5 4 0.90 firm fail-0 fail-4 supported, measured" in table
    assert "S1 6 4 – pass-0 pass-5 nothing proposed" in table


def test_points_are_coloured_by_decision_once_there_is_one(desk):
    first = grouped(desk)["failure"][0].items[0]
    desk.decide("r1", first.change_id, "accept", shown_at=0.0, seen=first.hash)
    by_side = grouped(desk)
    valued = map_groups.values("decision", by_side, {})
    assert set(valued.values()) == {"accepted", map_groups.NONE}
    looks = {one.name: one.colour for one in map_groups.categories("decision", by_side, valued)}
    marks = picture(desk, "decision").figure["data"][1]
    assert marks["marker"]["color"] == looks["accepted"]


@pytest.mark.parametrize("mode", map_groups.MODES)
def test_every_colouring_draws_every_run_and_explains_each_colour(desk, monkeypatch, mode):
    test = app(desk, "map", monkeypatch, refinement="r1", colour=mode)
    assert not test.exception
    assert len(ids_in(figures(test)[0])) == 6
    expected = {"decision": "open", "verdict": "supported", "task": "task 0", "model": "m2"}.get(mode, "a run;")
    assert expected in words_of(test)


def test_many_tasks_share_one_colour_for_the_rest():
    valued = {str(at): f"task {at % 9}" for at in range(30)}
    looks = map_groups.categories("task", {}, valued)
    assert [one.name for one in looks] == [*(f"task {at}" for at in range(6)), map_groups.OTHERS]


def test_one_model_is_no_choice(desk):
    one = desk.made.snapshot.training[0].trace
    assert "model" not in map_groups.modes({"a": one, "b": replace(one, task="other")})


def test_42_groups_differ_in_colour_or_shape(desk):
    clustering = desk.made.clusterings[0]
    many = tuple(replace(clustering.clusters[0], members=(str(at),), probabilities=(1.0,)) for at in range(42))
    made = replace(desk.made, clusterings=(replace(clustering, clusters=many),))
    groups = map_groups.groups(made, desk.review("r1"))["failure"]
    assert len({(one.colour, one.symbol) for one in groups}) == 42


def test_many_points_are_drawn_by_webgl(desk, monkeypatch):
    *marks, names = [one["type"] for one in picture(desk, webgl=True).figure["data"]]
    assert set(marks) == {"scattergl"} and names == "scatter"
    monkeypatch.setattr(map_figure, "SVG_LIMIT", 3)
    assert figures(app(desk, "map", monkeypatch, refinement="r1"))[0]["data"][0]["type"] == "scattergl"


def test_a_sample_is_the_same_each_time_and_keeps_what_is_named():
    points = [MapPoint(str(at), at, at) for at in range(500)]
    first = map_figure.sample(points, frozenset({"7", "499"}), 50)
    assert first == map_figure.sample(points, frozenset({"7", "499"}), 50)
    assert len(first) == 50
    assert {"7", "499"} <= {one.trace_id for one in first}
    assert map_figure.sample(points, frozenset(), 500) == tuple(points)


def test_a_sampled_picture_says_how_much_it_shows(desk, monkeypatch):
    monkeypatch.setattr(map_figure, "SAMPLE", 4)
    test = app(desk, "map", monkeypatch, refinement="r1")
    assert "4 of 6 runs are drawn" in words_of(test)
    assert len(ids_in(figures(test)[0])) == 4


def test_labels_do_not_lie_on_each_other(desk):
    group = grouped(desk)["failure"][0]
    crowd = [
        replace(
            group, key=f"k{at}", name=f"F{at}", cluster=replace(group.cluster, members=(str(at),), probabilities=(1.0,))
        )
        for at in range(29)
    ]
    spots = [MapPoint(str(at), at % 6 / 10, at // 6 / 10) for at in range(29)]
    box = map_figure._Box(-1, 1, -1, 1)
    texts = map_figure._labels(crowd, spots, box, [])
    areas = [
        map_figure._area(text, place, *box.pixels(spot))
        for (text, place), spot in zip(texts, spots, strict=True)
        if text
    ]
    rings = [map_figure._around(box.pixels(spot)) for spot in spots]
    named = [at for at, (text, _) in enumerate(texts) if text]
    assert len(areas) > 3
    for at, area in zip(named, areas, strict=True):
        assert map_figure._fits(area, rings[:at] + rings[at + 1 :])
    assert all(map_figure._fits(area, areas[:at] + areas[at + 1 :]) for at, area in enumerate(areas))


def test_a_side_without_a_picture_says_what_to_do(desk, monkeypatch):
    failure, success = desk.made.clusterings
    bare = replace(success, clusters=(), unclustered=(), picture=())
    made = replace(desk.made, clusterings=(failure, bare))
    test = app(ScriptedDesk(made), "map", monkeypatch, refinement="r1")
    assert "too few successes to compare; add traces" in words_of(test)


def test_text_from_runs_is_never_markup(monkeypatch):
    desk = ScriptedDesk(report(hostile=True))
    group = grouped(desk)["failure"][0]
    test = app(desk, "map", monkeypatch, refinement="r1", pick=f"run:{group.cluster.medoid}", colour="task")
    assert not test.exception
    drawn = html_of(test) + json.dumps(figures(test))
    assert "<img" not in drawn
    assert "<script" not in drawn
    assert "![x]" in words_of(test)
    assert not [one for one in labels_of(test) if "![" in one or "**" in one]
