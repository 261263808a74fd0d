"""Hosts one framework in a process: reads requests, calls the framework, writes replies.

Started as `python -m compare.sides.worker SIDE [THREADS]`.
Requests come as JSON lines on the standard input and replies go to the standard output that the process
was started with; whatever the framework or the user's code prints goes to standard error, and what it
reads is empty.
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from compare.sides import wire
from compare.sides._host import Host
from compare.sides.explained import explain
from compare.sides.framework_host import Worker
from compare.sides.freeing import return_free_memory
from compare.sides.methods import ProtocolError
from compare.sides.optional_imports import left_out
from compare.sides.peers import PEERS
from compare.sides.processes import end_with_parent
from compare.sides.settings import pin
from compare.sides.strategy_host import Strategies
from workloads.core.device import DeviceAbsent
from workloads.core.target import TargetError, WeightsError
from workloads.protocol.framework import Unsupported

HOSTED = {
    "tf": "tf_reference._framework",
    "jax": "jaxport._framework",
    "xla": "compare.sides.xla",
    "ports": "compare.inputs.port_host",
    "devices": "compare.sides.device_compiler",
    "models": "compare.sides.model_host",
    "modules": "compare.sides.module_host",
    "tf_strategies": "tf_reference._strategies",
    "jax_strategies": "jaxport._strategies",
    "ray": "compare.sides.ray_host",
} | {peer: f"compare.sides.peers.{peer}" for peer in PEERS}
"""By the name of a worker, the module whose `create()` gives a framework, one on several devices, or a host that
answers by itself."""

_ON_SEVERAL_DEVICES = ("tf_strategies", "jax_strategies")

_KINDS = {Unsupported: "unavailable", WeightsError: "weights", TargetError: "target", DeviceAbsent: "device"}
"""Errors that the coordinator distinguishes."""


def answer(host: Host, request: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one request; arrays go to the file that the request names."""
    worker = os.getpid()
    arrays = wire.load_arrays(Path(request["sent"]))[0] if request["sent"] else {}
    reply = host.reply(request["method"], request["parameters"], arrays)
    if os.getpid() != worker:
        # A child that user code forked, and that came back from there: the worker itself answers.
        os._exit(0)
    if reply.arrays:
        wire.save_arrays(reply.arrays, Path(request["reply"]))
    return {"ok": True, "value": reply.value, "arrays": bool(reply.arrays)}


def describe_failure(error: BaseException, starting: bool = False) -> dict[str, Any]:
    """A failure as the coordinator reads it: what kind it is, one line, and the traceback.

    While the framework is imported, a module that is not there is the framework, or what it needs.
    """
    kind = next((kind for expected, kind in _KINDS.items() if isinstance(error, expected)), "error")
    plain = kind != "error" or isinstance(error, ProtocolError)
    kind = "missing" if starting and isinstance(error, ModuleNotFoundError) else kind
    reason = " ".join(str(error).split()) if plain else explain(error)
    return {"ok": False, "kind": kind, "reason": reason, "details": traceback.format_exc()}


def serve(side: str, requests: BinaryIO, replies: BinaryIO) -> bool:
    """Answer requests until there are no more. The first message says whether framework and device are there.

    Returns:
      Whether both are there: if so, it returns once the pipe of requests is closed.
    """
    try:
        host = _create_host(side)
    except (ImportError, DeviceAbsent) as error:
        replies.write(wire.encode(describe_failure(error, starting=True)))
        return False
    replies.write(wire.encode({"ok": True, "value": {}, "arrays": False}))
    for line in requests:
        worker, request, start = os.getpid(), json.loads(line), time.perf_counter()
        try:
            reply = answer(host, request)
        except BaseException as error:  # noqa: BLE001 - what user code raises costs this request; no signal raises here
            reply = describe_failure(error)
        if os.getpid() != worker:
            os._exit(1)
        return_free_memory(request.get("method", ""), time.perf_counter() - start)
        replies.write(wire.encode({**reply, "number": request.get("number")}))
    return True


def _create_host(name: str) -> Host:
    start = time.perf_counter()
    # Importing leaves nothing to collect, and to look for it takes a fifth of the time that TensorFlow needs.
    gc.disable()
    with left_out(HOSTED[name]):
        framework: Any = importlib.import_module(HOSTED[name]).create()
    # Every load collects what the last one left. Modules stay, and to look through those of TensorFlow takes 0.15 s.
    gc.freeze()
    gc.enable()
    if name in _ON_SEVERAL_DEVICES:
        return Strategies(framework)
    return framework if isinstance(framework, Host) else Worker(framework, time.perf_counter() - start)


def main() -> None:
    """Serve one side on the pipes that the process was started with."""
    # A crash in native code leaves the Python stack in the log, where the coordinator finds the user's line.
    faulthandler.enable()
    # Ctrl-C reaches every process of a terminal: the coordinator decides whether this one ends.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", buffering=0)
    ending = end_with_parent(requests.fileno())
    # User code that reads standard input must find its end, not our requests.
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    # Before the framework is imported: its pools are as large as what it finds then.
    pin(int(sys.argv[2]) if len(sys.argv) > 2 else None)
    if serve(sys.argv[1], requests, replies):
        ending.join()
    # TensorFlow takes seconds to tear down what the operating system frees at once.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
