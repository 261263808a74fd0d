"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import gotcha_pages
import operation_map

project = "jaxport"
copyright = "the jaxport developers"
extensions = ["myst_parser", "sphinx_copybutton"]
exclude_patterns = ["_build", "results/*.json"]
html_theme = "furo"
html_title = "jaxport"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_show_sourcelink = False
highlight_language = "text"
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4
# A prompt is not copied with what is typed behind it.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Write the pages that are made from the catalogue and the map before Sphinx looks for pages."""
    app.connect("builder-inited", lambda built: write_pages(Path(built.srcdir)))


def write_pages(docs: Path) -> None:
    """Write every page that is generated; a page that is current stays."""
    gotcha_pages.write(docs)
    operation_map.write(docs)
