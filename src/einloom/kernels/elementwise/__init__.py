"""Kernels of element-wise operators, reductions, transpositions and streams. The door: `kernels.emit`."""
