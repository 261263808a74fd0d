"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))

import gotcha_pages
import library_pages
import operation_map

project = "jaxport"
copyright = "the jaxport developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
exclude_patterns = ["_build", "results/*.json"]
html_theme = "furo"
html_title = "jaxport"
html_static_path = ["_static"]
html_css_files = ["tables.css", "notebooks.css"]
html_copy_source = False
html_show_sourcelink = False
default_role = "code"  # `name` in a docstring
highlight_language = "text"
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 4
# Notebooks run once in each build. One that fails is a warning that shows the cell, and `make docs` takes no warnings.
nb_execution_mode = "force"
nb_execution_in_temp = True  # they write files
nb_execution_show_tb = True
nb_execution_timeout = -1  # none: a cell that times may take minutes on a machine that is busy
nb_merge_streams = True
nb_output_stderr = "remove"  # what TensorFlow says about the processor while it is imported
# A prompt is not copied with what is typed behind it.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app: Sphinx) -> None:
    """Write the pages that are made from the catalogue and the map before Sphinx looks for pages."""
    app.connect("autodoc-process-docstring", without_emphasis)
    app.connect("builder-inited", lambda built: write_pages(Path(built.srcdir)))
    app.connect("builder-inited", keep_notebooks_apart, priority=900)  # once MyST-NB has made its configuration


def without_emphasis(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text: [batch, *sizes] is no emphasis and |x| no substitution."""
    lines[:] = [re.sub(r"([*|])", r"\\\1", line) for line in lines]


def keep_notebooks_apart(app: Sphinx) -> None:
    """Executed notebooks are written where Sphinx keeps its own files, and copied to the pages that offer them.

    MyST-NB writes them beside the folder of the pages, which is a package's where `make docs` builds them.
    """
    folder = str(Path(app.doctreedir, "notebooks").resolve())
    app.env.mystnb_config = app.env.mystnb_config.copy(output_folder=folder)  # pyright: ignore[reportAttributeAccessIssue]


def write_pages(docs: Path) -> None:
    """Write every page that is generated; a page that is current stays."""
    gotcha_pages.write(docs)
    library_pages.write(docs)
    operation_map.write(docs)
