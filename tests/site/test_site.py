"""The site: builds without a warning, asks no network for anything, and no link of it is dead."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
#: attributes by which a browser fetches by itself; of a link only if it is no mere relation
FETCHED = {"src", "srcset", "poster", "data", "action"}


class Page(HTMLParser):
    """Addresses that a page fetches, those it links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.pictures: list[dict[str, str | None]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors |= {given[a] or "" for a in ("id", "name") if a in given}
        self.fetched += [given[a] or "" for a in FETCHED & given.keys()]
        if tag == "link":
            self.fetched.append(given.get("href") or "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"] or "")
        if tag == "img":
            self.pictures.append(given)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout, warnings as errors, with no way to a network."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    nowhere = "http://127.0.0.1:9"
    surroundings = os.environ | dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), nowhere)
    surroundings.pop("REPOSITORY", None)
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings)
    assert done.returncode == 0, done.stderr[-4000:]
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path.resolve(): Page(path) for path in found}


def test_every_page_of_the_docs_is_there(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert [s for s in sources if not (site / s.with_suffix(".html")).exists()] == []


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    fetched = {address for page in pages.values() for address in page.fetched}
    assert [a for a in fetched if urlsplit(a).netloc] == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.findall(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//[^)\"']*", text), sheet
    for page in pages.values():
        scripts = re.findall(r"<script[^>]*>(.*?)</script>", page.path.read_text("utf-8"), re.S)
        assert not re.findall(r"(?:fetch|import)\(\s*[\"'](?:https?:)?//", "".join(scripts))


def test_links_lead_somewhere(pages: dict[Path, Page]) -> None:
    dead = []
    for page in pages.values():
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not link:
                continue
            target = page.path.parent / unquote(parts.path) if parts.path else page.path
            anchors = pages[target.resolve()].anchors if target.resolve() in pages else None
            known = anchors is None or unquote(parts.fragment) in anchors
            # from code back to where a class is told, whose name may be that of another module
            known |= "_modules" in page.path.parts
            if not target.exists() or not known:
                dead.append(f"{page.path.name}: {link}")
    assert dead == []


def test_pictures_say_what_they_show(pages: dict[Path, Page]) -> None:
    mute = [(p.path.name, i.get("src")) for p in pages.values() for i in p.pictures]
    assert mute
    assert all(i.get("alt") for p in pages.values() for i in p.pictures)


def test_formulae_are_set_without_a_script(site: Path) -> None:
    page = (site / "algorithm.html").read_text(encoding="utf-8")
    assert page.count("<math") > 20
    assert not re.findall(r"<script[^>]*mathjax", page, re.IGNORECASE)
