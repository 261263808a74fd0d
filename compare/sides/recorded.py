"""A side kept in one safetensors file: every request with its reply, replayed where the framework is not."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from safetensors.numpy import save

from compare import files
from compare.errors import Foreseen
from compare.hlo import executing
from compare.hlo.bindings import UnreadableProgram
from compare.sides import requests, wire
from compare.sides._side import NotRecorded, Parameters, Reply, Side, SideError, Unavailable
from compare.sides.framework_host import Worker
from compare.writing import write_atomically
from workloads.core.device import CPU, HIGHEST, TF32, Device
from workloads.core.spec import Arrays
from workloads.protocol.framework import PASSES, default_pass

FORMAT = 2
METADATA_KEY = "jaxport.side"


_MOST_CHARACTERS = 2000
"""The most characters of a refusal; jaxport's own have a quarter of that."""

_MOST_NAMES = 10

MOST_BYTES = 1 << 33
"""The largest file: results for inputs of LARGEST_PARITY_BYTES in every mode and pass; it is read at once."""


class _Kept(msgspec.Struct, frozen=True):
    """One reply, or the refusal that came in its place."""

    method: str
    value: Any = None
    arrays: dict[str, str] = {}
    error: str | None = None
    reason: str = ""
    doing: str = ""


class _Head(msgspec.Struct, frozen=True):
    format: files.FormatNumber
    side: str


class _Whole(_Head, frozen=True):
    replies: dict[str, _Kept]
    workloads: list[str] = []


class RecordedSideError(Foreseen):
    """A recorded side that cannot be used: one line with what was expected, found, and what to do."""


class RecordingSide(Side):
    """A live side whose replies are kept."""

    def __init__(self, side: Side) -> None:
        self.name = side.name
        self._side = side
        self._scope = ""
        self._numbers = itertools.count()
        self._kept: dict[str, dict[str, Any]] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._workloads: dict[str, None] = {}

    def follow(self, side: Side) -> None:
        """Go on with this worker, where the one before was lost."""
        self._side = side

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """Pass the request on, and keep its reply or its refusal."""
        if method == "load":
            self._scope = _scope(parameters)
            self._workloads[parameters["workload"]] = None
        key = _key(self._scope, method, parameters, arrays)
        try:
            reply = self._side.call(method, parameters, arrays)
        except SideError as error:
            refusal = {"error": type(error).__name__, "reason": error.reason, "doing": error.doing}
            self._kept[key] = {"method": method, **refusal}
            raise
        if method == "load":
            self._scope = _scope(parameters, default=default_pass(reply.value["modes"]))
            key = _key(self._scope, method, parameters, arrays)
        number = next(self._numbers)
        names = {name: f"{number}/{name}" for name in reply.arrays}
        self._kept[key] = {"method": method, "value": reply.value, "arrays": names}
        self._arrays |= {f"{number}/{name}": array for name, array in reply.arrays.items()}
        return reply

    def close(self) -> None:
        """Nothing: the worker belongs to who started it."""

    def save(self, path: Path) -> None:
        """Write the file whole or not at all."""
        header = {"format": FORMAT, "side": self.name, "workloads": list(self._workloads)}
        head = json.dumps({**header, "replies": self._kept})
        data = save(wire.contiguous(self._arrays), {METADATA_KEY: head})
        write_atomically(path, data)


class RecordedSide(Side):
    """A side replayed from its file.

    Raises:
      RecordedSideError: the file is absent, broken, of another side or a newer format.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self._scope = ""
        advice = f"write it with `jaxport record --side {name} -o {path}`"
        self._expected = files.Expected(f"a recorded {name} side", advice, RecordedSideError)
        self._arrays, metadata = files.read_arrays(path, self._expected, MOST_BYTES)
        if METADATA_KEY not in metadata:
            self._expected.refuse(path, "a safetensors file of something else")
        unknown = sorted(metadata.keys() - {METADATA_KEY})
        if unknown:
            self._expected.refuse(path, f"metadata {_short(unknown[0])} besides {METADATA_KEY}, which no recording has")
        plain = files.parse(metadata[METADATA_KEY], path, self._expected)
        head = files.convert(plain, _Head, path, self._expected)
        if head.format > FORMAT:
            raise RecordedSideError(
                f"expected a recorded {name} side at {path} of format {FORMAT}, found format {head.format}: "
                "upgrade jaxport"
            )
        if head.format < FORMAT:
            self._expected.refuse(path, f"one of format {head.format}, from an older jaxport")
        if head.side != name:
            self._expected.refuse(path, f"a recorded {head.side[:80]} side")
        whole = files.convert(plain, _Whole, path, self._expected)
        self._workloads, self._kept = whole.workloads, whole.replies
        for recording in self._kept.values():
            if recording.error is None:
                self._reply(recording.method, recording)

    def call(self, method: str, parameters: Parameters, arrays: Arrays | None = None) -> Reply:
        """The reply that the live side gave to the same request on the same arrays."""
        if method == "load":
            self._scope = self._scope_of(parameters)
        recording = self._kept.get(_key(self._scope, method, parameters, arrays))
        if recording is None:
            what = self._without(parameters) if method == "load" else "this request"
            raise NotRecorded(self.name, method, f"the recorded side {self.path.name} does not hold {what}")
        if recording.error is not None:
            # A mode that the side does not have is no failure, neither in a replay nor in the run that was recorded.
            kind = Unavailable if recording.error == Unavailable.__name__ else SideError
            raise kind(self.name, recording.doing[:_MOST_CHARACTERS], recording.reason[:_MOST_CHARACTERS]).of(
                parameters
            )
        reply = self._reply(method, recording)
        if method == "program":
            self._check(reply.arrays["artifact"].tobytes())
        return reply

    def require(self, device: Device) -> None:
        """Accept what can be compared with a live side on a device: programs for it, with equal rounding of products.

        Raises:
          RecordedSideError: it holds programs for another one.
        """
        if device.kind == CPU:
            return
        facts = requests.environment(self)
        kind = facts.get("lowered_for") or str(facts.get("device")).partition(" ")[0]
        recorded_for = (kind, facts.get("matmul_precision"))
        if device.precision == TF32 and facts.get("lowered_for"):
            raise RecordedSideError(
                f"expected a {self.name} side at {self.path} that was recorded on a {device.kind} with "
                f"--matmul-precision {TF32}, found outputs of a CPU, which rounds no product to TensorFloat-32: choose "
                f"--matmul-precision {HIGHEST}"
            )
        if recorded_for != (device.kind, device.precision):
            facts_text = " ".join(str(fact)[:80] for fact in recorded_for if fact)
            raise RecordedSideError(
                f"expected a recorded {self.name} side at {self.path} with programs for {device.kind} "
                f"{device.precision}, found {facts_text}: record it again with --platform {device.kind} "
                f"--matmul-precision {device.precision}"
            )

    def _check(self, artifact: bytes) -> None:
        try:
            executing.check_bytecode(artifact)
        except UnreadableProgram as error:
            raise NotRecorded(self.name, "program", f"{error}, in the recorded side {self.path.name}") from error

    def _scope_of(self, parameters: Parameters) -> str:
        """The recorded name of a pass: "" if the pass was recorded without a name."""
        default = self._passes(parameters).get("", "")
        return _scope(parameters, default)

    def _passes(self, parameters: Parameters) -> dict[str, str]:
        """The passes that a workload was recorded to be timed on, by the requested pass: "" for the default."""
        recordings = {
            pass_: self._kept.get(_key(_scope({**parameters, "main_pass": pass_}), "load", parameters, None))
            for pass_ in ("", *PASSES)
        }
        return {
            pass_: pass_ or default_pass(reply.value["modes"])
            for pass_, reply in recordings.items()
            if reply and reply.value
        }

    def _without(self, parameters: Parameters) -> str:
        passes = list(self._passes(parameters).values())
        if not passes and parameters["workload"] not in self._workloads:
            names = ", ".join(name[:80] for name in self._workloads[:_MOST_NAMES])
            return f"{parameters['workload']}, found {names or 'recordings that do not say their names'}"
        if not passes:
            return "this workload with these inputs, weights and size"
        wanted_pass = parameters.get("main_pass") or "the training step, or the forward pass if there is none"
        return f"programs of {wanted_pass}: choose --pass {passes[0]}, or record it again"

    def _reply(self, method: str, recording: _Kept) -> Reply:
        """A kept reply, known to be one that this kind of request can have."""
        missing = [where for where in recording.arrays.values() if where not in self._arrays]
        if missing:
            self._expected.refuse(self.path, f"no array {_short(missing[0])} of its reply to {_short(method)}")
        arrays = {name: self._arrays[where] for name, where in recording.arrays.items()}
        definition = Worker.methods().get(method)
        if definition is not None:
            files.convert(recording.value, definition.value, self.path, self._expected, f"in its reply to {method}")
            reason = definition.unfit(recording.value, arrays)
            if reason:
                self._expected.refuse(self.path, f"{reason} in its reply to {method}")
        if method == "load" and not all([recording.value["modes"], *recording.value["modes"].values()]):
            self._expected.refuse(self.path, "no mode of a pass in its reply to load")
        return Reply(recording.value, arrays)

    def close(self) -> None:
        """Nothing is open."""


def _scope(parameters: Parameters, default: str = "") -> str:
    # The arrays' digest stands for the file that they travel in; the twin's own path may differ between machines.
    identity = {key: parameters[key] for key in ("workload", "dimensions", "inputs", "cases", "sha256")}
    main_pass = parameters.get("main_pass")
    if main_pass and main_pass != default:
        identity["main_pass"] = main_pass
    if parameters.get("unrolled"):
        identity["unrolled"] = parameters["unrolled"]
    return json.dumps(identity, sort_keys=True)


def _key(scope: str, method: str, parameters: Parameters, arrays: Arrays | None) -> str:
    digest = hashlib.sha256()
    if method == "environment":
        scope = ""
    request = "" if method == "load" else json.dumps(dict(parameters), sort_keys=True)
    for part in (scope, method, request):
        digest.update(part.encode() + b"\0")
    for name in sorted(arrays or {}):
        digest.update(name.encode() + b"\0" + (arrays or {})[name].tobytes())
    return digest.hexdigest()


def _short(name: str) -> str:
    return repr(name[:80])
