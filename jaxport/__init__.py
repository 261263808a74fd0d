"""How JAX computes each workload. Import `Model` to hand over a model of your own."""

from jaxport._model import Model as Model
