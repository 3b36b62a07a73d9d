"""Compiled einsums: the public object, its variants for strides, its calls, its text."""

from __future__ import annotations

from einloom.expression.expression import Expression

__all__ = ["Expression"]
