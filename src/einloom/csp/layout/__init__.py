"""One problem's objects: their numbers, sets and names, and where each domain lies."""
