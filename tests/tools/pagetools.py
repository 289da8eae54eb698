"""What stands on a page of HTML: ids, links, headings, and what it would load."""

from html.parser import HTMLParser


class Outline(HTMLParser):
    """Of the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.levels: list[int] = []
        self.pictures: list[dict[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if name := found.get("id"):
            self.ids.append(name)
        if tag == "a":
            self.links.append(found.get("href") or "")
        if tag in ("img", "script", "iframe", "video", "audio", "source", "embed", "object"):
            self.loaded.append(found.get("src") or found.get("data") or "")
        if tag == "link":
            self.loaded.append(found.get("href") or "")
        if tag == "img":
            self.pictures.append(found)
        if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit():
            self.levels.append(int(tag[1]))
