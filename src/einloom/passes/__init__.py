"""Heuristic optimiser: one pure pass a file, and `pipeline`, which drives them."""
