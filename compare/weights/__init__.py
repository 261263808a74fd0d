"""Weights of a Keras model carried into a Flax module: rules, plan, receipt, and the way back."""
