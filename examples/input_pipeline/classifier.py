"""What all trainings have in common: data, order, first weights and sizes, and what the times say. NumPy only."""

import hashlib
import json
import time

import numpy as np

BATCH, STEPS, FEATURES, HIDDEN, CLASSES, RATE = 128, 20, 256, 512, 10, 0.05
EXAMPLES = BATCH * STEPS


def examples():
    """u8[examples, features], and the class that most of the light falls on: i32[examples]."""
    random = np.random.default_rng(0)
    pixels = random.integers(0, 256, (EXAMPLES, FEATURES), np.uint8)
    parts = np.array_split(pixels.astype(np.float32), CLASSES, axis=1)
    return pixels, np.argmax([part.mean(1) for part in parts], axis=0).astype(np.int32)


def order():
    """i64[examples]: each loader shuffles in a way of its own, so that one order is given to both."""
    return np.random.default_rng(2).permutation(EXAMPLES)


def weights():
    random = np.random.default_rng(1)
    shapes = ((FEATURES, HIDDEN), (HIDDEN, CLASSES))
    return [random.standard_normal(shape).astype(np.float32) * shape[0] ** -0.5 for shape in shapes]


def digest(batches):
    """Of every bit of every batch, in order, with types and shapes: equal where two pipelines give the same."""
    found = hashlib.sha256()
    for batch in batches:
        for array in map(np.ascontiguousarray, batch):
            found.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return found.hexdigest()[:16]


def seconds_each(calls):
    """Seconds of one of several calls, the first left out: it compiles and fills buffers."""
    start, count = None, 0
    for _ in calls:
        if start is None:
            start = time.perf_counter()
        else:
            count += 1
    return (time.perf_counter() - start) / count


def report(losses, batches, batch_s, step_s, loop_s):
    """Input-bound: a batch takes longer to make than to train on. Prints one line of JSON."""
    bound_by = "input" if batch_s > step_s else "compute"
    told = {"batches": batches, "batch_s": batch_s, "step_s": step_s, "loop_s": loop_s, "bound_by": bound_by}
    print(json.dumps({"losses": [float(loss) for loss in losses], **told}))
