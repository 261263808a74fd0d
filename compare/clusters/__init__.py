"""Reads, summarizes and compares the log and the graphs of TensorFlow's autoclustering. All functions are pure."""
