"""Heuristic optimiser: one pure pass a file, and `optimize`, which drives them."""
