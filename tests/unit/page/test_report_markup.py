"""Markdown becomes tokens whose links, pictures and ids fit the page."""

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from kerhrm.reporting.page.markup import Place, parse, plain, split
from kerhrm.reporting.page.sections import lifted

TEXT = """\
# Title

Before, [in](other.md#x), [gone](missing.md), [shown](shown.md) and [out](https://example.org/a).

## Part

![Seconds](picture.png)

**A label**

| a | b |
|:--|--:|
| 1 | **2** |

- item

  | c |
  |:--|
  | 3 |

## Part
"""


def plot() -> Image.Image:
    """Lines of a few colours with soft edges, as in a plot."""
    t = np.arange(400)
    near = np.exp(-(((t[:, None] - 200 - 150 * np.sin(t / 60)) / 2) ** 2))
    ink = np.array([0, 114, 178]) * near[..., None] + 255 * (1 - near[..., None])
    ink[::80] = (213, 94, 0)
    return Image.fromarray(ink.astype(np.uint8))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "docs").mkdir()
    plot().save(tmp_path / "docs" / "picture.png")
    for name in ("other.md", "shown.md"):
        (tmp_path / "docs" / name).write_bytes(b"x")
    page = tmp_path / "results" / "reference" / "report.html"
    return Place(page, tmp_path, {"docs/shown.md": "here"}, {"part"})


def links(tokens: list[dict[str, object]]) -> dict[str, object]:
    found = {}
    for token in tokens:
        if token["type"] == "link":
            found[plain(token["children"])] = token["url"]  # type: ignore[arg-type]
        found |= links(token.get("children", []))  # type: ignore[arg-type]
    return found


def test_links_lead_from_the_page_or_nowhere(place: Place) -> None:
    found = links(parse(TEXT, place, place.checkout / "docs" / "this.md", top=2))
    assert found == {
        "in": "../../docs/other.md#x", "gone": None, "shown": "#here", "out": "https://example.org/a",
    }  # fmt: skip


def test_headings_sink_and_all_ids_differ(place: Place) -> None:
    tokens = parse(TEXT, place, place.checkout / "docs" / "this.md", top=3)
    headings = [t for t in tokens if t["type"] == "heading"]
    assert [t["level"] for t in headings] == [3, 4, 4]
    assert [t["id"] for t in headings] == ["title", "part-2", "part-3"]


def test_tables_are_called_what_stands_above_them(place: Place) -> None:
    tokens = parse(TEXT, place, place.checkout / "docs" / "this.md", top=2)
    (table,) = [t for t in tokens if t["type"] == "table"]
    assert table["caption"] == "A label"
    (nested,) = [
        t for one in tokens if one["type"] == "list" for t in one["children"][0]["children"]
        if t["type"] == "table"
    ]  # fmt: skip
    assert nested["caption"] == "A label"
    assert nested["id"] != table["id"]


def test_pictures_come_along(place: Place) -> None:
    tokens = parse(TEXT, place, place.checkout / "docs" / "this.md", top=2)
    (picture,) = [t for p in tokens for t in p.get("children", []) if t["type"] == "image"]
    assert picture["alt"] == "Seconds"
    kind, _, content = picture["src"].partition(",")
    assert kind == "data:image/png;base64"
    shown = Image.open(io.BytesIO(base64.b64decode(content)))
    before = (place.checkout / "docs" / "picture.png").stat().st_size
    assert len(base64.b64decode(content)) < before / 2
    assert shown.size == plot().size
    off = np.abs(np.asarray(shown.convert("RGB")).astype(int) - np.asarray(plot()))
    assert off.max() <= 16  # of 255: no reader sees it


def test_a_picture_is_lifted_out_of_its_document(place: Place) -> None:
    tokens = parse(TEXT, place, place.checkout / "docs" / "this.md", top=2)
    picture, rest = lifted(tokens)
    assert picture is not None
    assert picture["alt"] == "Seconds"
    assert len(rest) == len(tokens) - 1
    assert lifted(rest) == (None, rest)


def test_a_text_is_split_at_its_headings(place: Place) -> None:
    tokens = parse("a\n\n## B\n\nb\n\n### C\n\nc\n", place, place.page, top=2)
    parts = split(tokens, 2)
    assert {name: [plain([t]) for t in own] for name, own in parts.items()} == {
        "": ["a"], "B": ["b", "C", "c"],
    }  # fmt: skip


@given(st.lists(st.text(max_size=12), max_size=8))
def test_names_never_repeat(texts: list[str]) -> None:
    place = Place(Path("report.html"), Path())
    names = [place.name(text) for text in texts]
    assert len(set(names)) == len(names)
    assert all(name and " " not in name for name in names)
