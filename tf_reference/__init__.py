"""How TensorFlow computes each workload. Import `Model` to hand over a model of your own."""

from tf_reference._model import Model as Model
