"""einsum on GPUs: `GpuExpression`, the program of its steps, and each step as a compiled kernel."""
