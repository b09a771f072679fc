"""Sphinx configuration: MyST pages, numpydoc reference, a gallery made by code."""

import os
import sys
import warnings
from pathlib import Path

import rosenblatt

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

os.environ.setdefault("ROSENBLATT_QUIET", "1")  # examples do not say that kernels are compiled

project = "rosenblatt"
author = "the rosenblatt developers"
copyright = "2026, the rosenblatt developers"
release = version = rosenblatt.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "pages",
]
html_math_renderer = "mathml"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos"
copybutton_line_continuation_character = "\\"
exclude_patterns = [
    "_build",
    "_ext",
    "examples",
    "gallery/**/*.ipynb",
    "gallery/plot_*",
    "**/sg_execution_times*",
    "sg_execution_times*",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
suppress_warnings = ["config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "min_reported_time": 60,
    "image_scrapers": ("matplotlib",),
    "remove_config_comments": True,
    "capture_repr": (),
}
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = "rosenblatt"
html_favicon = "_static/favicon.svg"
html_show_sourcelink = False
# The sections stand in the sidebar of every page: twelve of them do not fit into a header.
html_sidebars = {"**": ["sections"]}
html_theme_options = {
    "logo": {"text": f"rosenblatt {release}"},
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "navigation_with_keys": False,
    "back_to_top_button": False,
    # Tables of figures take the width of the page's own table of contents.
    "secondary_sidebar_items": {
        "index": [],
        "benchmarks/**": [],
        **{f"{part}/**": ["page-toc"] for part in ("course", "guide", "how-to", "theory", "about")},
        "gallery/**": ["page-toc"],
        "reference/**": ["page-toc"],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}
