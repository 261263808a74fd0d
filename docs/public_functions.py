"""Writes docs/results/public_functions.md: `jaxport init` on functions of TensorFlow and Keras that nobody here wrote.

    python docs/public_functions.py                    the page of what is recorded
    python docs/public_functions.py ssim ctc_loss      write and judge these first: half a minute each

A record a function is kept beside the page; one without is listed as not judged yet.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from judged_gates import failing, of_record

PAGE = Path(__file__).parent / "results" / "public_functions.md"
RECORDS = PAGE.with_suffix("")
HOLDS = ("pass", "not_applicable")
GATES = ("structure", "semantics", "rounding", "gradients", "stability")
COVERAGE = re.compile(r"(\d+) of (\d+) operations written")


@dataclass(frozen=True)
class Function:
    """A call of a public function.

    Attributes:
      code: the call, over its inputs.
      inputs: as `jaxport init --input` takes them.
    """

    code: str
    inputs: tuple[str, ...]


IMAGES, PAIR, SIGNAL = "x=f32[B,16,16,3]:0..1", ("x=f32[B,16,16,3]:0..1", "y=f32[B,16,16,3]:0..1"), "x=f32[B,256]"
FUNCTIONS = {
    "ssim": Function("tf.image.ssim(x, y, 1.0)", PAIR),
    "psnr": Function("tf.image.psnr(x, y, 1.0)", PAIR),
    "sobel_edges": Function("tf.image.sobel_edges(x)", (IMAGES,)),
    "total_variation": Function("tf.image.total_variation(x)", (IMAGES,)),
    "per_image_standardization": Function("tf.image.per_image_standardization(x)", (IMAGES,)),
    "image_gradients": Function("tf.image.image_gradients(x)", (IMAGES,)),
    "adjust_gamma": Function("tf.image.adjust_gamma(x, 0.7)", ("x=f32[B,16,16,3]:0.1..1",)),
    "adjust_contrast": Function("tf.image.adjust_contrast(x, 1.5)", (IMAGES,)),
    "resize_with_pad": Function("tf.image.resize_with_pad(x, 24, 20)", (IMAGES,)),
    "rgb_to_yuv": Function("tf.image.rgb_to_yuv(x)", (IMAGES,)),
    "extract_patches": Function(
        "tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'SAME')", (IMAGES,)
    ),
    "crop_and_resize": Function(
        "tf.image.crop_and_resize(x, b, n, [7, 9])", ("x=f32[3,16,16,3]:0..1", "b=f32[B,4]:0..1", "n=i32[B]:0..3")
    ),
    "stft": Function("tf.abs(tf.signal.stft(x, 64, 32))", (SIGNAL,)),
    "inverse_stft": Function("tf.signal.inverse_stft(tf.signal.stft(x, 64, 32), 64, 32)", (SIGNAL,)),
    "dct": Function("tf.signal.dct(x, type=2, norm='ortho')", (SIGNAL,)),
    "mdct": Function("tf.signal.mdct(x, 64)", (SIGNAL,)),
    "mfccs": Function("tf.signal.mfccs_from_log_mel_spectrograms(x)", ("x=f32[B,10,20]",)),
    "expm": Function("tf.linalg.expm(x)", ("x=f32[B,4,4]:-1..1",)),
    "lstsq": Function("tf.linalg.lstsq(x, y, l2_regularizer=0.1)", ("x=f32[B,5,3]", "y=f32[B,5,2]")),
    "logdet": Function("tf.linalg.logdet(tf.matmul(x, x, transpose_b=True) + 4.0 * tf.eye(4))", ("x=f32[B,4,4]",)),
    "tensordot": Function("tf.tensordot(x, y, [[1, 2], [0, 1]])", ("x=f32[B,3,4]", "y=f32[3,4,5]")),
    "ctc_loss": Function(
        "tf.nn.ctc_loss(y, x, tf.fill([tf.shape(y)[0]], 3), tf.fill([tf.shape(y)[0]], 8), logits_time_major=False)",
        ("x=f32[B,8,6]", "y=i32[B,3]:1..6"),
    ),
    "weighted_cross_entropy": Function(
        "tf.nn.weighted_cross_entropy_with_logits(x, y, 2.0)", ("x=f32[B,6]:0..1", "y=f32[B,6]")
    ),
    "moments": Function("tf.nn.moments(x, [0, 1, 2])", (IMAGES,)),
    "separable_conv2d": Function(
        "tf.nn.separable_conv2d(x, d, p, [1, 2, 2, 1], 'SAME')",
        ("x=f32[B,16,16,3]", "d=f32[3,3,3,2]", "p=f32[1,1,6,4]"),
    ),
    "local_response_normalization": Function("tf.nn.local_response_normalization(x, 2)", (IMAGES,)),
    "fused_batch_norm": Function(
        "tf.compat.v1.nn.fused_batch_norm(x, s, o)[0]", ("x=f32[B,8,8,3]", "s=f32[3]", "o=f32[3]")
    ),
    "clip_by_global_norm": Function("tf.clip_by_global_norm([x, y], 1.0)", ("x=f32[B,3]", "y=f32[B,4]")),
    "reduce_logsumexp": Function("tf.math.reduce_logsumexp(x, -1)", (SIGNAL,)),
    "confusion_matrix": Function("tf.math.confusion_matrix(x, y, 5)", ("x=i32[B]:0..5", "y=i32[B]:0..5")),
    "sequence_mask": Function("tf.sequence_mask(n, 9)", ("n=i32[B]:0..9",)),
    "histogram_fixed_width": Function("tf.histogram_fixed_width(x, [0.0, 1.0], 8)", ("x=f32[B]:0..1",)),
    "scan": Function("tf.scan(lambda a, b: 0.5 * a + b, x)", ("x=f32[B,3]",)),
    "map_fn": Function("tf.map_fn(lambda r: tf.linalg.matvec(tf.tensordot(r, r, 0), r), x)", ("x=f32[B,3]",)),
    "dice": Function("keras.losses.dice(x, y)", ("x=f32[B,8,8,1]:0..1", "y=f32[B,8,8,1]:0..1")),
    "categorical_focal_crossentropy": Function(
        "keras.losses.categorical_focal_crossentropy(x, y)", ("x=f32[B,5]:0..1", "y=f32[B,5]:0.1..0.9")
    ),
    "huber": Function("keras.losses.huber(x, y)", ("x=f32[B,5]", "y=f32[B,5]")),
    "sparse_categorical_crossentropy": Function(
        "keras.losses.sparse_categorical_crossentropy(y, x, from_logits=True)", ("x=f32[B,5]", "y=i32[B]:0..5")
    ),
    "affine_transform": Function(
        "keras.ops.image.affine_transform(x, t)", ("x=f32[B,8,8,2]:0..1", "t=f32[B,8]:-0.3..0.3")
    ),
    "associative_scan": Function("keras.ops.associative_scan(lambda a, b: a * b, x, axis=1)", ("x=f32[B,8]",)),
    "dot_product_attention": Function(
        "keras.ops.dot_product_attention(q, k, v)", ("q=f32[B,4,2,8]", "k=f32[B,6,2,8]", "v=f32[B,6,2,8]")
    ),
    "in_top_k": Function("keras.metrics.sparse_top_k_categorical_accuracy(y, x, 2)", ("x=f32[B,5]", "y=i32[B]:0..5")),
}  # fmt: skip

HEAD = """# Public functions, written

Functions of TensorFlow and Keras that nobody wrote for jaxport, each called as shown: `jaxport init f.py:f -o port`
with the inputs, and no line by hand. A gate is told as `jaxport run` judges it. Seconds are those of the whole command,
on a machine that had other work. `python docs/public_functions.py NAME` makes a row anew, and this page.

| call | operations written | {gates} | seconds |
|---|---|{line}---|
"""


def judged(name: str) -> dict[str, object]:
    """The record of one function: what was written, and how each gate came out."""
    function = FUNCTIONS[name]
    arguments = ", ".join(declared.partition("=")[0] for declared in function.inputs)
    source = f"import keras\nimport tensorflow as tf\n\n\ndef {name}({arguments}):\n    return {function.code}\n"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "f.py").write_text(source)
        inputs = [word for declared in function.inputs for word in ("--input", declared)]
        command = [sys.executable, "-m", "compare", "init", f"f.py:{name}", *inputs, "-o", "port"]
        start = time.monotonic()
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = round(time.monotonic() - start)
        record = Path(folder) / "port" / "jaxport-report" / "results.json"
        gates, held = of_record(record) if record.exists() else ({}, [])
    told = COVERAGE.search(done.stdout)
    left = [line for line in done.stdout.splitlines() if line.startswith("to be written: ")]
    errors = done.stderr.strip().splitlines()[-1:] if done.returncode == 2 else []
    failures = [message.replace(f"{folder}/", "") for message in (*left, *failing(held), *errors)]
    return {
        "written": list(map(int, told.groups())) if told else [], "seconds": seconds, "gates": gates,
        "exit": done.returncode, "failures": failures[:3],
    }  # fmt: skip


def page() -> str:
    """The page of all records."""
    rows, failures, passed, known, whole = "", "", 0, 0, 0
    for name, function in FUNCTIONS.items():
        path = RECORDS / f"{name}.json"
        record = json.loads(path.read_text()) if path.exists() else {}
        gates, written = record.get("gates", {}), record.get("written", [])
        known += bool(record)
        whole += bool(written) and written[0] == written[1]
        passed += record.get("exit") == 0
        cells = [f"`{function.code}`", f"{written[0]} of {written[1]}" if written else "-"]
        cells += [gates.get(gate, "-").replace("not_applicable", "none") for gate in GATES]
        rows += f"| {' | '.join(cells)} | {record.get('seconds', '-')} |\n"
        failures += "".join(
            f"- {name}: {failure.removeprefix(f'{name}: ')}\n" for failure in record.get("failures", [])[:1]
        )
    line, gates = "---|" * len(GATES), " | ".join(GATES)
    told = f"\n{known} of {len(FUNCTIONS)} functions were tried: {whole} are written whole, {passed} hold every gate.\n"
    if failures:
        told += f"\nThe first of what is left or fails:\n\n{failures}"
    return HEAD.format(gates=gates, line=line) + rows + told


def main(names: list[str]) -> None:
    """Judge functions, and write the page."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    for name in names:
        (RECORDS / f"{name}.json").write_text(f"{json.dumps(judged(name), indent=1)}\n")
        PAGE.write_text(page())
    PAGE.write_text(page())


if __name__ == "__main__":
    main(sys.argv[1:])
