"""What a GPU's space has beside its constraints: kernels of tensor operations, leaves as launches, expert leaves."""
