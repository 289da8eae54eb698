"""The page in a real browser: quiet, offline, accessible, and everything in it works."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
Open = Callable[..., Page]


@pytest.fixture
def show(browser: Browser, written: Path) -> Iterator[Open]:
    """Opens the page; fails if it complains of anything, or asks for anything but itself."""
    contexts, troubles = [], []

    def opened(**options: object) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **options})  # type: ignore[arg-type]
        contexts.append(context)
        context.set_default_timeout(120_000)  # on a busy machine
        page = context.new_page()
        page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: troubles.append(str(error)))

        def judge(route: object) -> None:
            url = route.request.url  # type: ignore[attr-defined]
            if url != written.as_uri():
                troubles.append(f"asks for {url}")
                route.abort()  # type: ignore[attr-defined]
            else:
                route.continue_()  # type: ignore[attr-defined]

        page.route("**/*", judge)
        page.goto(written.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def violations(page: Page) -> list[str]:
    """What axe has against a page, one line each."""
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {[n['target'] for n in v['nodes']][:3]}" for v in found]


def test_it_is_accessible(show: Open) -> None:
    page = show(color_scheme="light")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert violations(page) == []


def test_it_is_accessible_in_the_dark(show: Open) -> None:
    assert violations(show(color_scheme="dark")) == []


def test_it_fits_a_phone(show: Open) -> None:
    page = show(viewport=PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    root = "document.documentElement"
    assert page.evaluate(f"{root}.scrollWidth") <= PHONE["width"]
    wide = page.evaluate(
        "[...document.querySelectorAll('table')].filter(t => t.scrollWidth > 390"
        " && !t.closest('.scroll')).length"
    )
    assert wide == 0


def test_tables_sort_by_keyboard_and_say_so(show: Open) -> None:
    page = show()
    table = page.locator("#table1 ~ .scroll table.grid").first
    header = table.locator("thead th").nth(1)
    body = table.locator("tbody").first
    means = [float(v) for v in body.locator("td:nth-child(2) .ours").all_inner_texts()]
    header.locator("button").focus()
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    rising = [float(v) for v in body.locator("td:nth-child(2) .ours").all_inner_texts()]
    assert rising == sorted(means) != means
    page.keyboard.press("Enter")
    assert header.get_attribute("aria-sort") == "descending"
    falling = [float(v) for v in body.locator("td:nth-child(2) .ours").all_inner_texts()]
    assert falling == sorted(means, reverse=True)
    assert table.locator("[aria-sort]").count() == 1
    assert body.locator("tr").first.locator("th").count() == 1


def test_a_number_leads_to_its_evidence_and_back(show: Open) -> None:
    page = show()
    cell = page.locator("#table1 ~ .scroll table.grid td a.cell").first
    mean = cell.locator(".ours").inner_text()
    cell.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("#behind")
    dialog.wait_for(state="visible")  # The page follows its address, a task of the browser's own
    told = dialog.inner_text()
    assert f"{float(mean):.2f}" in told
    assert "results/reference/tables/table1.csv, line " in told
    assert "pooled validation" in told
    assert violations(page) == []
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    page.wait_for_function("document.activeElement.className === 'cell'")


def test_a_link_to_a_cell_opens_it(show: Open, written: Path) -> None:
    page = show()
    page.goto(f"{written.as_uri()}#table1-c2")
    page.reload()
    page.locator("#behind").wait_for(state="visible")


def test_statements_can_be_filtered(show: Open) -> None:
    page = show()
    form, rows = page.locator("form[data-filter=t-claims]"), page.locator("#t-claims tbody tr")
    if not form.count():
        pytest.skip("no claims are published")
    kinds = {r: rows.nth(r).get_attribute("data-kind") for r in range(rows.count())}
    first = form.locator("input[type=checkbox]").first
    hidden = first.get_attribute("value")
    first.uncheck()
    shown = [r for r in kinds if rows.nth(r).is_visible()]
    assert shown == [r for r, kind in kinds.items() if kind != hidden]
    assert form.locator(".count").inner_text() == f"{len(shown)} of {len(kinds)} shown"
    form.locator("input[type=search]").fill("no statement says this")
    assert form.locator(".count").inner_text() == f"0 of {len(kinds)} shown"


def test_it_can_be_read_without_scripts(show: Open) -> None:
    page = show(java_script_enabled=False)
    assert page.locator("#answer").is_visible()
    assert page.locator("#table1 ~ .scroll td").first.is_visible()


def test_it_prints(show: Open) -> None:
    page = show()
    assert page.pdf(format="A4")[:5] == b"%PDF-"
