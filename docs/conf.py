"""Sphinx configuration: MyST pages, numpydoc reference, a gallery made by code."""

import warnings

import rosenblatt

project = "rosenblatt"
author = "the rosenblatt developers"
copyright = "2026, the rosenblatt developers"
release = version = rosenblatt.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "gallery/*.ipynb", "**/sg_execution_times*"]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
templates_path = ["_templates"]
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
autodoc_typehints = "none"
suppress_warnings = ["config.cache"]

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
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
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rosenblatt"},
    "show_nav_level": 2,
    "navigation_with_keys": False,
    # Tables of figures take the width of the page's own table of contents.
    "secondary_sidebar_items": {
        **{f"{part}/**": ["page-toc"] for part in ("guide", "theory", "gallery", "reference")},
        "benchmarks/**": [],
    },
    "footer_start": ["copyright"],
    "footer_end": [],
}
