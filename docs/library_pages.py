"""The library for ports as pages: what each module of jaxport offers, from its docstrings."""

from __future__ import annotations

from pathlib import Path

from generated import about, write_folder

import jaxport

FOLDER = "library"

INDEX = """# The library

JAX with TensorFlow's behaviour, for ports. Each function gives what TensorFlow or Keras gives where JAX, Flax and optax
have nothing that is exactly it. Where one of these is exact, use it: the catalogue of [gotchas](../gotchas/index.md)
says which, under *Agree*.

```python
from jaxport import optimizers, recurrent

optimizer = optimizers.adam(1e-3)  # an optax.GradientTransformation, with Keras's formula
```

| module | what it has |
|---|---|
{rows}

```{{toctree}}
:hidden:

{names}
```
"""

MODULE = """# jaxport.{name}

```{{eval-rst}}
.. automodule:: jaxport.{name}
   :members:
   :member-order: bysource
```
"""


def write(docs: Path) -> None:
    """Write docs/library/: the list of modules, and a page each; a page that is current stays."""
    pages = {f"{name}.md": MODULE.format(name=name) for name in jaxport.LIBRARY}
    rows = "\n".join(f"| [`jaxport.{name}`]({name}.md) | {about(f'jaxport.{name}')} |" for name in jaxport.LIBRARY)
    pages["index.md"] = INDEX.format(rows=rows, names="\n".join(jaxport.LIBRARY))
    write_folder(docs / FOLDER, pages)
