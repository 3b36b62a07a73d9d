"""Propagation, undo and explanation over the tables of one problem."""
