"""Nest to Program: pure code generators that touch no host."""
