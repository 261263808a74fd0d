"""What would XLA make of a program on a device that is not here? Devices by name, kernels, memory and bounds."""
