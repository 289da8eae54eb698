"""Docstrings of option sections: a parameter for each field, from the field's own description."""

from typing import Any

from kerhrm.sections import Section


def describe(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Add numpydoc's ``Parameters``."""
    if not (isinstance(obj, type) and issubclass(obj, Section)) or "Parameters" in lines:
        return
    lines += ["", "Parameters", "----------"]
    for key, field in obj.model_fields.items():
        default = field.get_default()
        kind = f"{type(default).__name__}()" if isinstance(default, Section) else repr(default)
        lines += [f"{key} : default {kind}", f"    {field.description or ''}", ""]


def shorten(app: Any, what: str, name: str, obj: Any, *_: Any) -> tuple[str, None] | None:
    """No signature of forty fields: they are described one by one."""
    return ("(**options)", None) if isinstance(obj, type) and issubclass(obj, Section) else None


def setup(app: Any) -> dict[str, bool]:
    """Before numpydoc reads the docstrings."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", describe, priority=100)
    app.connect("autodoc-process-signature", shorten, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
