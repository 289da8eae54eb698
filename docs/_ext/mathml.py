"""Formulae as MathML, which browsers set by themselves: nothing is fetched, no script runs."""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

#: what docutils does not know, and what it says the same by
KNOWN_AS = {
    r"\dots": r"\ldots ",
    r"\stackrel": r"\overset",
    r"\left<": r"\left\langle ",
    r"\right>": r"\right\rangle ",
    r"\argmin": r"\operatorname{argmin}",
    r"\Var": r"\operatorname{Var}",
}

log = logging.getLogger(__name__)


def translate(tex: str, node: nodes.Node, as_block: bool = False) -> str:
    """MathML of a formula; one that cannot be read is a warning, and stands as it is written."""
    for command, known in KNOWN_AS.items():
        tex = tex.replace(command, known)
    try:
        return str(tex2mathml(tex, as_block=as_block))
    except MathError as error:
        log.warning("formula %r: %s", tex, error, location=node)
        return f"<code>{nodes.Text(tex)}</code>"


def inline(writer: Any, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(translate(node.astext(), node))
    raise nodes.SkipNode


def display(writer: Any, node: nodes.math_block) -> None:
    """A formula of its own; one that is too wide scrolls, by the keyboard, too."""
    formula = translate(node.astext(), node, as_block=True)
    writer.body.append(f'<div class="math" tabindex="0">{formula}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Make ``html_math_renderer = "mathml"`` known."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
