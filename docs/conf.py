"""The site that ``make site`` builds; nothing of it needs a network, neither now nor when read."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "KerHRM"
version = release = version_of("kerhrm")
copyright = ""

extensions = [
    "mathml",
    "repository",
    "sections",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_ext"]
nitpicky = True
later_pages = ["development.md"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "repository"]
# make site REPOSITORY=https://.../blob/main; without it links to other files stay in the checkout
repository_base = os.environ.get("REPOSITORY", "").rstrip("/")

autodoc_typehints = "none"  # docstrings say types, shapes and units
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
plot_include_source = True
plot_formats = [("png", 120)]
plot_html_show_formats = False
plot_html_show_source_link = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_title = "KerHRM"
html_theme = "pydata_sphinx_theme"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "KerHRM"},
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": [],
    "footer_end": ["sphinx-version"],
}

# The picture of the rules is Mermaid: drawn where the file itself is read, and shown as text here.
suppress_warnings = ["misc.highlighting_failure"]
