"""How it looks: every page in both themes at laptop width, written to build/screens for a person to look at."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from browser import helpers
from browser.conftest import ATTEMPTS, TALKS, UNLABELLED, Prepared, Tabs

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
READABLE = 4.5
"""The contrast that text needs against what is behind it."""
CONTRASTS = """() => {
  // A slider shows its value above the thumb that holds it, on the page and not on the thumb.
  const SPARED = "svg, :disabled, [aria-hidden=true], [data-testid=stIconMaterial], style, script," +
    "[data-testid=stSliderThumbValue]";
  const channel = value => (value /= 255) <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
  const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = colour => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = paint.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3]));
  const behind = one => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.unshift(parse(getComputedStyle(at).backgroundColor));
    return layers.reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const found = [];
  for (const one of document.querySelectorAll("[data-testid=stMain] *, [data-testid=stBottom] *")) {
    const own = [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim());
    const style = getComputedStyle(one);
    if (!own || !one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || one.closest(SPARED)) {
      continue;
    }
    const back = behind(one);
    const [a, b] = [light(over(parse(style.color), back)), light(back)].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    found.push([Math.round(ratio * 100) / 100, one.textContent.trim().slice(0, 40), `${one.className}`.slice(0, 60)]);
  }
  return found.sort((x, y) => x[0] - y[0]);
}"""
WIDER = """() => [...document.querySelectorAll("[data-testid=stMain], [data-testid=stBottom], html")]
  .filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.dataset.testid || one.tagName)"""


def views(prepared: Prepared) -> list[tuple[str, str, dict[str, Any], str]]:
    """Name, page, parameters, and what must be there before a picture is taken."""
    here = {"corpus": "sample", "refinement": prepared.sample}
    installed = {"folder": str(prepared.skills), "skill": str(prepared.skills / "demo")}
    return [
        ("corpus", "corpus", {"corpus": "sample"}, ".sr-metrics"),
        ("corpus-add", "corpus", {"corpus": UNLABELLED, "view": "traces"}, "[data-testid=stFileUploader]"),
        ("corpus-hand", "corpus", {"corpus": UNLABELLED, "view": "hand"}, ".sr-run"),
        ("corpus-talks", "corpus", {"corpus": TALKS, "view": "talks"}, ".st-key-talks_cut"),
        ("corpus-suggested", "corpus", {"corpus": ATTEMPTS, "view": "suggested"}, ".sr-run"),
        ("corpus-skill", "corpus", {"corpus": UNLABELLED, "view": "skill"}, ".sr-empty"),
        ("refine", "refine", here, "#root .st-key-start"),
        ("map", "map", here, ".js-plotly-plot .points path"),
        ("review", "review", here, ".rv-intent"),
        ("skill", "skill", here, "[class*='st-key-sk_hunk_']"),
        ("skill-rendered", "skill", {**here, "view": "Rendered"}, ".sr-md"),
        ("skills", "skills", here, ".sr-empty"),
        ("skills-install", "skills", {**here, "install": prepared.sample}, ".st-key-in_install"),
        ("skills-merge", "skills", {**installed, "act": "merge"}, ".st-key-in_merge"),
        ("skills-import", "skills", {**installed, "act": "import"}, ".st-key-in_import"),
        ("help", "help", here, ".sr-table"),
    ]


@pytest.mark.parametrize("theme", THEMES)
def test_every_page_reads_well_and_fits_a_laptop(
    app: helpers.App, tabs: Tabs, prepared: Prepared, theme: Theme
) -> None:
    screen = tabs(app.url, color_scheme=theme)
    for name, page, params, there in views(prepared):
        screen.open(page, **params)
        fits(screen, name, theme, there)
        if page == "map":
            screen.click_group("failure", screen.groups("failure")[0])
            fits(screen, "map-group", theme, ".rv-card-head")
        if page == "review":
            trace(screen, theme)


def trace(screen: helpers.Screen, theme: Theme) -> None:
    """The run that a proposal cites, from the review on."""
    screen.press("e")
    fits(screen, "review-edit", theme, ".st-key-rv_text")
    screen.press("Escape")
    expect(screen.at("rv_text")).to_have_count(0)  # the bar is drawn before the text goes, which would take the letter
    expect(screen.at("rv_open")).to_be_visible()
    screen.settle()
    screen.press("o")
    fits(screen, "trace", theme, ".rv-trace-head")


def fits(screen: helpers.Screen, name: str, theme: Theme, there: str) -> None:
    expect(screen.page.locator(there).first).to_be_visible()
    screen.settle()
    screen.picture(f"{name}-{theme}", tall=not name.startswith("review"))
    assert screen.page.evaluate(WIDER) == [], name
    measured = screen.page.evaluate(CONTRASTS)
    assert len(measured) > 10, name
    assert [one for one in measured if one[0] < READABLE] == [], name
    assert dark(screen) == (theme == "dark"), name


def dark(screen: helpers.Screen) -> bool:
    """Whether the page itself is dark."""
    colour = screen.page.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
    return sum(int(one) for one in colour.strip("rgb()").split(",")[:3]) < 3 * 60
