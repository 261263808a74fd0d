"""Coverage: which operations of TensorFlow compile, and which have a counterpart; of all, and of a model."""
