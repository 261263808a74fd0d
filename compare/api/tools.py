"""The functions that an agent calls: those of `jaxport`, on files within one folder, with short replies."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from compare.api import diagnosis, file_check, ladders, locate_report, lookups, tool_replies
from compare.api.confined import Root
from compare.api.file_workload import file_workload
from compare.api.in_python import in_python
from compare.api.live_workload import Options
from compare.api.lookups import GotchasReply, OperationsReply
from compare.api.named_model import readable_by_worker
from compare.api.port_writing import Writing, write_port
from compare.api.tool_replies import CheckReply, DoctorReply, LadderReply, LocateReply, PortReply
from compare.errors import FORESEEN, RequestError
from compare.porting.port_source import Sizes
from compare.porting.styles import NNX, Style
from compare.progress import Silent
from compare.sides.pool import Pool
from workloads.core.declared import AnyWorkload


class Tools:
    """Answers one call after the other. The docstring of each method is what the agent reads of it.

    Args:
      root: the folder in which all files lie that an agent can name.
      pool: of the workers that run them.
      timeout_s: how long a worker may take for one request.
    """

    def __init__(self, root: Root, pool: Pool, timeout_s: float) -> None:
        self._root, self._pool, self._timeout_s = root, pool, timeout_s
        self._one_at_a_time = threading.Lock()

    def check(
        self,
        tf_fn: str,
        jax_fn: str | None = None,
        inputs: dict[str, str] | None = None,
        dimensions: dict[str, str] | None = None,
    ) -> CheckReply:
        """Judge a port of a TensorFlow function or model to JAX: same numbers, gradients and training, by six gates.

        Call it after every edit. The verdict "pass" means that the port is proved.

        Args:
          tf_fn: a port file, alone; or FILE.py:NAME of the original function of tensors.
          jax_fn: FILE.py:NAME of its port, a function of arrays.
          inputs: by name, in the order of the arguments: {"x": "f32[8,128]", "n": "i32[8]:0..10"}; a size may be a
            name, "f32[B,128]", to be judged at several sizes.
          dimensions: of those that inputs name, "1..64" to judge between.
        """
        with self._answering():
            workload, options = self._workload(tf_fn, jax_fn, inputs, dimensions)
            report = file_check.check(workload, options.timeout_s, Silent(), self._pool)
            return tool_replies.check_reply(report, self._root.shorten_paths)

    def locate(
        self,
        tf_fn: str,
        jax_fn: str | None = None,
        inputs: dict[str, str] | None = None,
        dimensions: dict[str, str] | None = None,
        passes: list[str] | None = None,
    ) -> LocateReply:
        """Name the operation to blame in a port that check fails: both source lines, both values, cause and remedy.

        Args:
          tf_fn: as of check.
          jax_fn: as of check.
          inputs: as of check.
          dimensions: as of check.
          passes: "forward", "gradients", "step"; all by default.
        """
        with self._answering():
            workload, _ = self._workload(tf_fn, jax_fn, inputs, dimensions)
            report = locate_report.locate_files(self._pool, workload, passes or [], Silent())
            return tool_replies.locate_reply(report, self._root.shorten_paths)

    def next(self, port: str) -> LadderReply:
        """Say which rung of a port fails first, and what to look at: structure, weights, forward, gradients, training.

        Layers of a Keras model are compared with the modules of their names, so it tells which layer is wrong.

        Args:
          port: a port file, or the folder that write_port wrote.
        """
        with self._answering():
            ladder = ladders.climb(self._pool, str(self._port(port)), self._timeout_s, Silent())
            return tool_replies.ladder_reply(ladder, self._root.shorten_paths)

    def gotchas(self, words: list[str]) -> GotchasReply:
        """Look up what TensorFlow and JAX do differently under names that look alike, with the right port.

        Args:
          words: an identifier, a theme, an operation such as "keras.layers.GRU", or any word; all have to match.
        """
        with self._answering():
            return lookups.gotchas(words)

    def ops(self, words: list[str]) -> OperationsReply:
        """Look up TensorFlow's operations: whether XLA compiles them, and what they are in JAX.

        Args:
          words: names such as "MatMul" or "tf.nn.softmax", or a part of one; any has to match.
        """
        with self._answering():
            return lookups.operations(words)

    def doctor(self, model: str, inputs: dict[str, str] | None = None, custom: list[str] | None = None) -> DoctorReply:
        """Say what will hurt when a model is ported: blockers, gotchas that apply, what write_port leaves to write.

        Args:
          model: a .keras or .h5 file, the folder of a SavedModel, or FILE.py:NAME of a Keras model, of a function that
            makes one, or of a function of tensors.
          inputs: of the arguments of a function, by name: {"x": "f32[B,128]"}.
          custom: FILE.py:NAME of every class that a file of Keras names and Keras does not have.
        """
        with self._answering(), readable_by_worker(*self._model(model, inputs, custom)) as named_model:
            report = diagnosis.report(diagnosis.diagnose(named_model))
            return tool_replies.doctor_reply(report, self._root.shorten_paths)

    def write_port(
        self,
        model: str,
        folder: str,
        inputs: dict[str, str] | None = None,
        custom: list[str] | None = None,
        force: bool = False,
        style: Style = NNX,
    ) -> PortReply:
        """Write a Flax port of a Keras model with its weights, or of a function in jax.numpy, and judge it.

        Args:
          model: as of doctor, or a .pb file; of a SavedModel the default signature is ported.
          folder: of the port: none that is there, or an empty one.
          inputs: as of doctor.
          custom: as of doctor.
          force: whether to write over a port that is there.
          style: of the modules of a Keras model: "nnx", or "linen", which is written whole or not at all.
        """
        with self._answering(), readable_by_worker(*self._model(model, inputs, custom)) as named_model:
            path = self._root.path(folder)
            port = write_port(named_model, path, Writing(Sizes(), force, run=True, style=style), Silent())
            return tool_replies.port_reply(port, self._root.shorten_paths)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """One call at a time; what an agent can put right is one sentence."""
        with self._one_at_a_time:
            try:
                yield
            except FORESEEN as error:
                raise RequestError(self._root.shorten_paths(in_python(str(error)))) from error

    def _workload(
        self,
        tf_fn: str,
        jax_fn: str | None,
        inputs: Mapping[str, str] | None,
        dimensions: Mapping[str, str] | None,
    ) -> tuple[AnyWorkload, Options]:
        options = Options(dimensions or {}, timeout_s=self._timeout_s)
        if jax_fn is None and inputs is None:
            if not tf_fn.endswith(".py"):
                raise RequestError(f"expected a port file, or tf_fn, jax_fn and inputs, found {tf_fn!r} alone")
            return file_workload(self._root.path(tf_fn), None, None, options), options
        if jax_fn is None or inputs is None:
            raise RequestError("expected tf_fn, jax_fn and inputs together, found one of them left out: name all three")
        functions = (self._root.reference(tf_fn), self._root.reference(jax_fn))
        return file_workload(*functions, inputs, options), options

    def _port(self, name: str) -> Path:
        """A port file, of a folder too; a link in the folder may lead elsewhere."""
        file = self._root.path(ladders.port_of(str(self._root.path(name))))
        if file.suffix != ".py":
            raise RequestError(f"expected a port file or the folder of one, found {name!r}: name FILE.py")
        return file

    def _model(
        self, model: str, inputs: Mapping[str, str] | None, custom: list[str] | None
    ) -> tuple[str | Path, Mapping[str, str] | None, list[str], float]:
        references = [self._root.reference(reference) for reference in custom or []]
        return self._root.target(model), inputs, references, self._timeout_s
