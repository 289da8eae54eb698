"""Pages of a run: one style, no request and no script."""

from html import escape
from importlib.resources import files

from bs4 import BeautifulSoup


def framed(markup: str) -> str:
    """HTML whose tables can be read on any screen.

    A table gets a frame that scrolls, also by keyboard; an empty header is no header.
    """
    content = BeautifulSoup(markup, "html.parser")
    for table in content.find_all("table"):
        attributes = {"class": "frame", "tabindex": "0"}
        frame = content.new_tag("div", attrs=attributes)
        table.wrap(frame)
    for header in content.find_all("th"):
        if not header.get_text(strip=True):
            header.name = "td"
    return str(content)


def page(title: str, body: str) -> str:
    """A page of some HTML, which is taken as it is; the title is plain text."""
    frame = files("kerhrm_paper.reporting") / "page.html"
    text = frame.read_text(encoding="utf-8")
    shown = escape(title)
    text = text.replace("{title}", shown, 1)
    return text.replace("{body}", body, 1)
