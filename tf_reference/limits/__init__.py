"""The limits' examples in TensorFlow, one file a theme."""
