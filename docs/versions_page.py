"""docs/versions.md, from what trials found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from versions import COMMANDS, TRIALS, WORKER, WORKLOADS, Found

HEAD = f"""# Versions

`make matrix` tries releases and writes this page. Each row is: parity, programs and profiles of
{" and ".join(f"`{name}`" for name in WORKLOADS)} (`run`), `jaxport hlo scale_and_add`, `jaxport locate add`, all at
size smoke, and a port of layers of `tf.keras`, which are those of Keras 2 where a row has tf_keras. The numbers are
exit codes: 0, every verdict holds. What is `lost` a run could not have, and says so; all else of it is there. `tried`
says when, by which jaxport, and by which commit of its code.

## A side in an environment of its own

A side runs by its own interpreter (`--tf-python`, `--jax-python`): releases that cannot be installed together can be
compared. Jaxport itself, and the other side, run in an environment with what `constraints.txt` has.
"""

TOGETHER = """
## Both sides and jaxport in one environment

`pyproject.toml` allows what these rows span, and no more. A jaxlib before 0.10.2 has no `jaxlib._hlo`, by which
programs are read: jaxport cannot run on it, though a side can. TensorFlow 2.18 and before want an `ml_dtypes` that JAX
does not: they are held against it by `--tf-python` alone.
"""

FOOT = """
## What is lost, and why

| what a row says | why |
|---|---|
{losses}

An environment for a side needs its framework and these; jaxport itself need not be in it:

```
pip install {worker}
```

The whole tour, five workloads at size smoke, was run by hand on the oldest pair (TensorFlow 2.16.2 and JAX 0.6.2) and
in one environment of the newest (2.21.0 and 0.12.0.1, Python 3.13): parity holds in 5 of 5 on either.

Built-in models that hold lists of modules, such as `bert`, need Flax 0.12 (`nnx.List`), and `conv_mnist` names an
option that the XLA of JAX 0.6 has not: on that side they are not judged, and say so. Your own port is bound by neither.

One framework alone: [installing](installing.md). `python docs/adapters.py`, which `.github/workflows/adapters.yml` runs
every week with the newest releases, tells when one of them has moved a private name that jaxport uses.
"""

LOSSES = {
    "Cannot deserialize computation": "this TensorFlow cannot read the StableHLO that today's jaxlib writes: the cells "
    "`@tf` are empty. Parity, both programs and the cells `@jax` are there",
    "the text of stage stablehlo of tf": "this TensorFlow writes its program as HLO alone, which jaxport turns into "
    "StableHLO to align it",
    "kernels of tf": "this TensorFlow's profiler names no kernels of compiled functions: they are counted in the "
    "optimized module alone",
    "kernels of jax": "this jaxlib's profiler names no kernels: they are counted in the optimized module alone",
    "no attribute 'serialize'": "this jaxlib does not serialize an executable: its cells are empty",
}
"""By a part of what is said."""


def page(results: Mapping[str, Found]) -> str:
    """The page.

    Args:
      results: by the name of a trial.
    """
    together = {name: result for name, result in results.items() if name.startswith("together")}
    apart = {name: result for name, result in results.items() if name not in together}
    lost = [text for result in results.values() for text in result.lost]
    losses = [f"| {part} | {why} |" for part, why in LOSSES.items() if any(part in text for text in lost)]
    foot = FOOT.format(losses="\n".join(losses), worker=" ".join(WORKER))
    return "\n".join([HEAD, *_table(apart), TOGETHER, *_table(together), foot])


def _table(results: Mapping[str, Found]) -> Iterator[str]:
    yield f"| TensorFlow side | JAX side | {' | '.join(COMMANDS)} | lost | tried |"
    yield "|---|---|" + "---|" * (len(COMMANDS) + 2)
    for name, result in results.items():
        sides = {**result.sides, "tf": ", ".join((result.sides.get("tf", ""), *_keras_2(name)))}
        codes = " | ".join(str(result.codes[command]) for command in COMMANDS)
        tried = f"{result.created[:10]}, {result.jaxport}"
        yield f"| {sides['tf']} | {sides.get('jax', '')} | {codes} | {_lost(result.lost)} | {tried} |"


def _keras_2(name: str) -> Iterator[str]:
    """What tf.keras is in a trial, where it is not Keras 3."""
    wanted = TRIALS[name].tf.requirements if name in TRIALS else ()
    yield from (
        f"tf.keras of {requirement.replace('==', ' ').replace('-', '_')}"
        for requirement in wanted
        if requirement.startswith("tf-keras")
    )


def _lost(lost: Iterable[str]) -> str:
    """What a row lost, each once, its first clause."""
    first = dict.fromkeys(text.partition(";")[0].replace("|", "\\|") for text in lost)
    return "; ".join(first) or "nothing"
