"""An executed notebook as a page of HTML that needs nothing else, no request included."""

from pathlib import Path

import nbformat
from jinja2 import DictLoader
from nbconvert import HTMLExporter

#: nbconvert's page without the scripts that it loads from the network, for which there is no use
OFFLINE = """\
{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block jupyter_widgets %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
"""


def to_html(notebook: str | Path) -> str:
    """The page: text, tables and figures without the code."""
    content = nbformat.read(notebook, as_version=4)
    exporter = HTMLExporter(
        extra_loaders=[DictLoader({"offline.html.j2": OFFLINE})],
        template_file="offline.html.j2",
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
    )
    return str(exporter.from_notebook_node(content)[0])
