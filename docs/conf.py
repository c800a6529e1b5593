"""Settings of Sphinx."""

import logging
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the extension below
# the theme lets all loggers talk
logging.getLogger("pytensor").setLevel(logging.WARNING)

project = "bsvdd"
author = "The bsvdd authors"
copyright = "the bsvdd authors, Apache-2.0"
version = release = installed("bsvdd")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "docs.pages",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}
nitpicky = True

# docstrings say what each argument is; a signature with annotations would say it again
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False  # members stand in full below
numpydoc_class_members_toctree = False
add_module_names = False
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["dollarmath", "deflist", "fieldlist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "bsvdd"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["bsvdd.css"]
html_show_sphinx = False
html_copy_source = False
