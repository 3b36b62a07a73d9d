"""Every error einloom raises on purpose. One root; each class also is the standard exception a caller expects.

A message says where, what and what to do: the equation with carets where there is one, the shapes, then the way out.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "ArgumentError",
    "DTypeError",
    "DeadEnd",
    "DeviceError",
    "EinloomError",
    "EncodingError",
    "EquationError",
    "EquationTypeError",
    "FallbackWarning",
    "InternalError",
    "OverlapError",
    "PathError",
    "ScheduleError",
    "ShapeError",
    "StrideError",
    "UnsupportedTarget",
]


class EinloomError(Exception):
    """Root of all errors of einloom: catch this one to catch them all."""


class ArgumentError(EinloomError, ValueError):
    """An argument or a setting that no other class names is of a wrong kind or out of range. The message names it."""


class EquationError(EinloomError, ValueError):
    """The text of an equation is not a legal einsum. Mend the marked place."""


class EquationTypeError(EquationError, TypeError):
    """What stands for the equation is neither its text nor the lists of labels of the interleaved form."""


class PathError(EquationError, RuntimeError):
    """What `optimize=` is, or gives, does not contract these operands to one tensor."""


class ShapeError(EinloomError, ValueError):
    """Extents disagree, or an operand has another number of axes than its subscript."""


class StrideError(EinloomError, ValueError):
    """A stride cannot be used: an output that overlaps itself, or an element outside the buffer."""


class OverlapError(EinloomError, ValueError):
    """The output shares bytes with an input. Pass another `out`, or a copy of the input."""


class DTypeError(EinloomError, TypeError):
    """A data type that the operation does not take. Convert the operand, or pass `dtype=`."""


class ScheduleError(EinloomError, ValueError):
    """A configuration, schedule or loop string that is illegal, with the dimension and the reason."""


class DeadEnd(ScheduleError):
    """A decision leaves no legal implementation. The message names the constraint and the decisions.

    Attributes:
        conflict: why, as a `csp.Reason`; None where no propagation was involved.
    """

    conflict: Any = None


class EncodingError(EinloomError, ValueError):
    """Operands that no form of an instruction takes. The message lists the forms that exist."""


class UnsupportedTarget(EinloomError, NotImplementedError):
    """This machine, or this combination of primitive, type and ISA, is not supported. The message names what is."""


class DeviceError(EinloomError, RuntimeError):
    """A device or its driver refused: executable memory, a GPU, a thread team."""


class FallbackWarning(UserWarning):
    """NumPy computes in place of generated code, which there is none of for this type: right, and slower.

    Said once for each type. `einloom.settings(fallback="error")` makes it an error.
    """


class InternalError(EinloomError, RuntimeError):
    """A bug of einloom. Please report it with the text of the message: it carries the nest."""
