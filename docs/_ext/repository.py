"""Links from pages to files of the repository that are no pages.

In the Markdown they are relative, ``[code](../src/kerhrm/errors.py)``, as GitHub wants them.  Here
they go to the same file below ``repository_base``, or, where that is empty, in the checkout that
the site was built from.

Pages that a run of the workflow writes are ``later_pages``: as long as one is not there, links to
it are plain text, and tables of contents leave it out.
"""

import os
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError

SCHEME = "repository:"
#: relative, and of no image
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\((?![a-z]+:|#)([^)#\s]+)([^)\s]*)\)")


def mark(app: Any, docname: str, source: list[str]) -> None:
    """Give links that leave ``docs`` a scheme of their own, before the page is read."""
    folder = (Path(app.srcdir) / docname).parent

    def marked(link: re.Match[str]) -> str:
        text, relative, anchor = link.groups()
        target = Path(os.path.normpath(folder / relative))
        if target.name in app.config.later_pages and not target.exists():
            return text
        if target.is_relative_to(app.srcdir):
            return link[0]
        if not target.exists():
            raise ExtensionError(f"docs/{docname}.md links to {relative}, which does not exist")
        path = target.relative_to(Path(app.srcdir).parent).as_posix()
        return f"[{text}]({SCHEME}{path}{anchor})"

    text = LINK.sub(marked, source[0])
    for page in app.config.later_pages:
        if not (folder / page).exists():  # an entry of a toctree
            text = re.sub(rf"^{re.escape(Path(page).stem)}\n", "", text, flags=re.MULTILINE)
    source[0] = text


def resolve(app: Any, doctree: nodes.document, docname: str) -> None:
    """Make addresses of what :func:`mark` has marked."""
    base = app.config.repository_base
    if not base:
        page = Path(app.builder.get_outfilename(docname))
        base = Path(os.path.relpath(Path(app.srcdir).parent, page.parent)).as_posix()
    for link in doctree.findall(nodes.reference):
        uri = link.get("refuri", "")
        if uri.startswith(SCHEME):
            link["refuri"] = f"{base}/{uri.removeprefix(SCHEME)}"


def setup(app: Any) -> dict[str, bool]:
    """Connect both, and declare what they are told."""
    app.add_config_value("repository_base", "", "html", str)
    app.add_config_value("later_pages", [], "env", list)
    app.connect("source-read", mark)
    app.connect("doctree-resolved", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
