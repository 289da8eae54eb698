"""Docstrings that share texts, each of which stands once."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])


def completer(texts: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Decorator of classes and functions whose docstrings have lines ``<name>``.

    Each such line becomes the text of that name, as far indented as the line.
    """
    line = re.compile(rf"(?m)^( *)<({'|'.join(map(re.escape, texts))})>$")

    def text(found: re.Match[str]) -> str:
        return textwrap.indent(texts[found[2]].rstrip("\n"), found[1])

    def completed(documented: Documented) -> Documented:
        documented.__doc__ = line.sub(text, inspect.cleandoc(documented.__doc__ or ""))
        return documented

    return completed
