"""What is in a model of TensorFlow, and what will hurt when it is ported: judged from plain data."""
