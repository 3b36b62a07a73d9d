"""Drivers of GPUs: `devices` opens one, `opencl` and `cuda` are the kinds. Their packages are imported then."""
