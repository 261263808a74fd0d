"""Whether tf.data and Grain give the same batches in the same order, bit for bit: before that, no times are compared.

usage: python same_batches.py
"""

from itertools import zip_longest

import numpy as np


def first_difference(one, other):
    """Where two pipelines part: batch, array, element and both values; "" where they do not."""
    for number, (a, b) in enumerate(zip_longest(one, other)):
        if a is None or b is None or len(a) != len(b):
            return f"batch {number} is missing, or has other arrays, in one of both"
        for at, (x, y) in enumerate(zip(map(np.asarray, a), map(np.asarray, b), strict=True)):
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                return f"array {at} of batch {number} is {x.dtype}{x.shape} in one and {y.dtype}{y.shape} in the other"
            bits = (np.ascontiguousarray(each).view(f"u{each.itemsize}") for each in (x, y))
            differs = np.argwhere(np.not_equal(*bits))
            if len(differs):
                index = tuple(map(int, differs[0]))
                return f"array {at} of batch {number} at {index} is {x[index]!r} in one and {y[index]!r} in the other"
    return ""


def main():
    import grain_batches
    import tf_data_batches

    found = first_difference(tf_data_batches.batches(), grain_batches.batches())
    print(found or "tf.data and Grain give the same batches in the same order, bit for bit")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
