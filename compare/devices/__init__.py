"""Describes what XLA compiles for a device that is absent: devices by name, kernels, memory and bounds."""
