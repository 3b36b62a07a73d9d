"""Traced bodies: what a Python function does with symbolic indices and tensors, as a nest that needs no Python."""
