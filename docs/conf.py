"""The site of ``make site``: hand-written pages, API and configuration reference."""

import re
import subprocess
import sys
from importlib.metadata import version as version_of
from pathlib import Path

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

project = "KerHRM"
version = release = version_of("kerhrm")
copyright = ""

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # docstrings say types and shapes
autodoc_member_order = "bysource"
autosummary_generate = True
templates_path = ["templates"]
numpydoc_show_class_members = False
suppress_warnings = ["ref.ref", "ref.term"]  # of scikit-learn in inherited docstrings
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "thumbnail_size": (640, 360),
    "min_reported_time": 3600,  # no seconds of this machine on a page
    "write_computation_times": False,
    "show_signature": False,
    "backreferences_dir": None,
    "abort_on_example_error": True,
}
plot_include_source = True
plot_formats = [("png", 120)]
plot_html_show_formats = False
plot_html_show_source_link = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_title = "KerHRM"
html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
html_sidebars = {"**": []}
html_show_copyright = False
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "header_links_before_dropdown": 4,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
}


#: links to files of a checkout, and the pages that the site has in their places
IN_PLACE = {
    r"\.\./config/README\.md": "generated/configuration.md",
    r"\.\./examples/gallery/GALLERY_HEADER\.rst": "gallery/index.rst",
    r"\.\./examples/gallery/(plot_\w+)\.py": r"gallery/\1.rst",
}


def in_place(_app: Sphinx, _name: str, source: list[str]) -> None:
    """Links of a hand-written page, as the site has them."""
    for file, page in IN_PLACE.items():
        source[0] = re.sub(rf"\]\({file}", f"]({page}", source[0])


def setup(app: Sphinx) -> None:
    """Formulas as MathML, which browsers draw without a script; links of the site."""
    app.connect("source-read", in_place)

    def visit(translator: HTML5Translator, node: nodes.Element) -> None:
        if isinstance(node, nodes.math_block):  # a frame that scrolls, also by keyboard
            formula = convert(node.astext(), display="block")
            translator.body.append(f'<div class="formula" tabindex="0">{formula}</div>')
        else:
            translator.body.append(convert(node.astext()))
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (visit, None), (visit, None))


generated = Path(__file__).parent / "generated"
generated.mkdir(exist_ok=True)
command = [sys.executable, str(Path(__file__).with_name("reference.py"))]
reference = subprocess.run(command, check=True, capture_output=True, text=True)
(generated / "configuration.md").write_text(reference.stdout)
