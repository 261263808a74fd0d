"""Changes of TensorFlow's graph optimizer: aligns the graphs before and after it, and names the pass of each change.

All functions are pure.
"""
