"""The same batches by Grain: no TensorFlow."""

import classifier
import numpy as np

try:
    import grain
except ModuleNotFoundError:
    raise SystemExit("expected the package grain, found none: pip install 'jaxport[grain]'") from None


def batches():
    """(f32[batch, features], i32[batch]), normalised a batch at a time; two threads read ahead."""
    pixels, labels = classifier.examples()
    made = grain.MapDataset.source(classifier.order()).batch(classifier.BATCH, drop_remainder=True)
    made = made.map(lambda chosen: (pixels[chosen], labels[chosen]))
    made = made.map(lambda batch: (batch[0].astype(np.float32) / np.float32(255) - np.float32(0.5), batch[1]))
    return iter(made.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=8)))
