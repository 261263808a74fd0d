"""How TensorFlow computes each workload. Import `Model` to hand over a model of your own.

`keras_train_step` makes its step of what Keras trains it with, `keras_port` all of it of a compiled Keras model,
`keras_rest` all of one, or models in it, but some layers, `function_port` a function with the variables that it reads,
`saved_graph_port` a part of a SavedModel or frozen graph, and `share` a replica's share of a loss.
"""

from tf_reference._function_port import function_port as function_port
from tf_reference._keras_port import keras_port as keras_port
from tf_reference._keras_port import keras_rest as keras_rest
from tf_reference._model import Model as Model
from tf_reference._model import keras_train_step as keras_train_step
from tf_reference._saved_port import saved_graph_port as saved_graph_port
from tf_reference._shares import share as share
from workloads.protocol.saved_graph import SavedGraph as SavedGraph
