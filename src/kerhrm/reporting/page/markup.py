"""Markdown as a tree of tokens, which a template turns into HTML; links and pictures resolved."""

import base64
import io
import itertools
import mimetypes
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mistune
from mistune.plugins.table import table, table_in_list
from PIL import Image

#: as mistune makes them: ``type``, and ``children`` or ``raw`` and ``attrs``
Token = dict[str, Any]
#: of headings and tables; ids must be unique on a page
Used = set[str]


@dataclass(frozen=True)
class Place:
    """Where a page lies, and what of the repository it shows itself."""

    page: Path
    checkout: Path
    #: path in the checkout, as ``docs/claims.md``, to the anchor of what the page has of it
    anchors: Mapping[str, str] = field(default_factory=dict)
    used: Used = field(default_factory=set)

    def link(self, url: str, source: Path) -> str | None:
        """A link of a file in the checkout as one of the page; None if it leads nowhere."""
        if urlsplit(url).scheme:
            return url
        path, _, fragment = url.partition("#")
        if not path:
            return None
        target = Path(os.path.normpath(source.parent / path))
        if (known := self.relative(target)) in self.anchors:
            return f"#{self.anchors[known]}"
        if not target.exists():
            return None
        relative = Path(os.path.relpath(target, self.page.parent)).as_posix()
        return f"{relative}#{fragment}" if fragment else relative

    def relative(self, path: Path) -> str:
        """A file's path as seen from the checkout."""
        return Path(os.path.relpath(path, self.checkout)).as_posix()

    def name(self, text: str) -> str:
        """An id that nothing else on the page has."""
        slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"
        numbered = (f"{slug}-{n}" for n in itertools.count(2))
        found = next(name for name in itertools.chain([slug], numbered) if name not in self.used)
        self.used.add(found)
        return found


def data_uri(path: Path) -> str:
    """A picture inside a page; PNG in 256 colours, which is a third of the bytes of a plot."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    content = path.read_bytes()
    if kind == "image/png":
        smaller = io.BytesIO()
        few = Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        few.save(smaller, "PNG", optimize=True)
        content = min(content, smaller.getvalue(), key=len)
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def parse(text: str, place: Place, source: Path, *, top: int, title: str = "") -> list[Token]:
    """Tokens of Markdown that stands, or could stand, in the file ``source``.

    Its highest headings get the level ``top``, and all of them ids.  Tables get an id and, in
    ``caption``, what stands above them: a heading, a line in bold, a sentence that ends in a colon,
    or ``title``, which is the only one of these that a reader has not seen (``is_titled``).
    """
    tokens = _tokens(text)
    levels = [t["attrs"]["level"] for t in tokens if t["type"] == "heading"]
    shift = top - min(levels, default=top)
    _resolve(tokens, place, source)
    above = title
    for token in tokens:
        if token["type"] == "heading":
            token["level"] = min(token["attrs"]["level"] + shift, 6)
            above = plain(token["children"])
            token["id"] = place.name(above)
        elif token["type"] == "paragraph":
            above = _label(token) or above
        for inner in _tables(token):
            titled = bool(title) and above == title
            inner |= {"caption": above or "Table", "is_titled": titled}
            inner["id"] = place.name(f"t-{above}")
            _note_empty(inner)
    return tokens


def split(tokens: Sequence[Token], level: int) -> dict[str, list[Token]]:
    """Tokens below each heading of a level, by its text; what stands before them under ""."""
    found: dict[str, list[Token]] = {"": []}
    at = ""
    for token in tokens:
        if token["type"] == "heading" and token["level"] == level:
            at = plain(token["children"])
            found[at] = []
        else:
            found[at].append(token)
    return found


def plain(tokens: Iterable[Token]) -> str:
    """The words alone."""
    return "".join(plain(t["children"]) if "children" in t else _word(t) for t in tokens).strip()


def _word(token: Token) -> str:
    return " " if token["type"] in ("softbreak", "linebreak") else str(token.get("raw", ""))


def _tokens(text: str) -> list[Token]:
    parser = mistune.create_markdown(renderer=None, plugins=[table, table_in_list])
    found = parser(text)
    assert isinstance(found, list)
    return [t for t in found if t["type"] != "blank_line"]


def _label(token: Token) -> str:
    """What a paragraph says of a table below it: a phrase in bold, or an end with a colon."""
    children = token["children"]
    words = plain(children)
    if [c["type"] for c in children] == ["strong"]:
        return words
    return words.rpartition(". ")[2].removesuffix(":") if words.endswith(":") else ""


def _tables(token: Token) -> list[Token]:
    if token["type"] == "table":
        return [token]
    return [found for child in token.get("children", []) for found in _tables(child)]


def _note_empty(token: Token) -> None:
    """Tell cells without words, which make no heading of a column or a row."""
    if token["type"] == "table_cell":
        token["is_empty"] = not plain(token["children"])
    for child in token.get("children", []):
        _note_empty(child)


def _resolve(tokens: Sequence[Token], place: Place, source: Path) -> None:
    for token in tokens:
        if token["type"] == "link":
            token["url"] = place.link(token["attrs"]["url"], source)
        elif token["type"] == "image":
            path = source.parent / token["attrs"]["url"]
            token["src"] = data_uri(path) if path.is_file() else ""
            token["alt"] = plain(token["children"])
        _resolve(token.get("children", []), place, source)
