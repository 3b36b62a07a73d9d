"""From the text of an einsum to the operations that compute it."""
