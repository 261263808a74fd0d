"""The catalogue of gotchas as pages of the guide, a page a theme."""

from __future__ import annotations

from pathlib import Path

from generated import about, write_folder

from compare.gotchas import expressions
from compare.report.markdown import plain
from workloads.gotchas import _catalogue
from workloads.gotchas._catalogue import Entry
from workloads.gotchas._gotcha import JAX, TENSORFLOW

FOLDER = "gotchas"

CODE = """```python
{}
```
"""


def write(docs: Path) -> None:
    """Write docs/gotchas/THEME.md for every theme, and the page that lists them; a page that is current stays."""
    entries = _catalogue.entries()
    pages = {f"{theme}.md": theme_page(theme, entries) for theme in _catalogue.themes()}
    pages["index.md"] = index_page(entries)
    write_folder(docs / FOLDER, pages)


def index_page(entries: tuple[Entry, ...]) -> str:
    """All themes with their counts and their first sentences."""
    differ = sum(not entry.gotcha.is_control for entry in entries)
    rows = [_row(theme, [entry for entry in entries if entry.theme == theme]) for theme in _catalogue.themes()]
    listed = "\n".join(_catalogue.themes())
    return f"""# Gotchas

What TensorFlow and JAX do differently under names that look alike: {differ} behaviours with the port that one would
write first and the right one, and {len(entries) - differ} where the first port is right. Every one is executed: the
gates of [parity](../parity.md) refuse the first port and accept the second.

```console
$ jaxport lookup gotchas gelu                one of them, in the terminal
$ jaxport lookup gotchas keras.layers.GRU    everything that concerns a layer
$ jaxport lookup gotchas optimizers --run    judge a theme here
```

| theme | differ | agree | about |
|---|---|---|---|
{chr(10).join(rows)}

```{{toctree}}
:hidden:

{listed}
```
"""


def _row(theme: str, entries: list[Entry]) -> str:
    controls = sum(entry.gotcha.is_control for entry in entries)
    return f"| [{theme.replace('_', ' ')}]({theme}.md) | {len(entries) - controls} | {controls} | {_about(theme)} |"


def _about(theme: str) -> str:
    return plain(about(f"{_catalogue.PACKAGE}.{theme}"))


def theme_page(theme: str, entries: tuple[Entry, ...]) -> str:
    """Every entry of a theme, those that differ first."""
    of_theme = [entry for entry in entries if entry.theme == theme]
    differ = "\n".join(_section(entry) for entry in of_theme if not entry.gotcha.is_control)
    agree = "\n".join(_section(entry) for entry in of_theme if entry.gotcha.is_control)
    title = theme.replace("_", " ").capitalize()
    agreeing = f"\n## Agree\n\nThe port that one would write first is right.\n\n{agree}" if agree else ""
    return f"# {title}\n\n{_about(theme)}\n\n## Differ\n\n{differ}{agreeing}{_shared(of_theme)}"


def _shared(of_theme: list[Entry]) -> str:
    """What the entries refer to, such as layers and their sizes, once for the whole page."""
    sides = (("TensorFlow", TENSORFLOW), ("JAX", JAX))
    shared = [(name, expressions.shared_source(side, of_theme)) for name, side in sides]
    blocks = "\n".join(f"In {name}:\n\n{CODE.format(text)}" for name, text in shared if text)
    return f"\n## Helpers\n\nWhat the expressions above refer to.\n\n{blocks}" if blocks else ""


def _section(entry: Entry) -> str:
    code = expressions.code_of(entry)
    naive = f"The port that one would write first fails the {entry.gotcha.fails} gate:\n\n{CODE.format(code.naive)}\n"
    return f"""### {entry.gotcha.name}

{plain(entry.gotcha.why)}

Concerns {", ".join(f"`{name}`" for name in entry.gotcha.concerns)}. Source: {plain(entry.gotcha.source)}.

{CODE.format(code.tensorflow)}
{naive if code.naive else ""}{"The right port:" if code.naive else "The port:"}

{CODE.format(code.jax)}"""
