"""Which type an expression computes in: NumPy's rules for NumPy's types; others travel as integers of their size.

>>> numpy_type("bfloat16")
('bfloat16', dtype('uint16'))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from einloom.arrays.library import Imported, label_of
from einloom.dtypes import COMPUTED, DTYPES, INT32, PAIRS, TYPES, UINT32, DType, Kind, promoted
from einloom.errors import DTypeError
from einloom.plan.carriers import is_copy
from einloom.plan.equation import caret_lines, parse_equation

__all__ = [
    "ADVICE",
    "FOREIGN",
    "computed_by_numpy",
    "computed_type",
    "known_type",
    "numpy_type",
    "operand_types",
    "registered",
    "scaled_sums",
    "stands_in",
    "wider_results",
]

FOREIGN = {"bfloat16": np.dtype(np.uint16)}
"""Types that NumPy lacks, by name, and what their elements travel as."""

ADVICE = f"einloom computes in {', '.join(COMPUTED)}: convert the operands with astype()."
"""What errors say to do about other types."""


def computed_by_numpy(dtype: np.dtype[Any]) -> bool:
    """Return whether NumPy can multiply or sum a type's elements, which it does where einloom has no code for them.

    Types that a library registers with NumPy are not its own, whatever kind they claim: `float8_e5m2` says "f".
    """
    return dtype.kind in "biufcmO" and dtype.isbuiltin != 2


def numpy_type(dtype: Any) -> tuple[str, np.dtype[Any]]:
    """Return a type's name, and NumPy's type of its elements or of what they travel as.

    Raises:
        DTypeError: it is no type.
    """
    if type(dtype).__module__ == "torch":  # Its types are called like NumPy's, but for the module in front.
        dtype = str(dtype).rpartition(".")[2]
    if isinstance(dtype, str) and dtype in FOREIGN:
        return dtype, FOREIGN[dtype]
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        raise DTypeError(f"dtype={dtype!r} is no data type\n  Pass one of {', '.join(COMPUTED)}.") from None
    return label_of(found), found


def computed_type(equation: str, operands: Sequence[Imported], dtype: Any) -> Any:
    """Return the type to compute in, as NumPy promotes; a single operand of any type may be copied as it is.

    Raises:
        DTypeError: there is no arithmetic in it.
    """
    label, result = _common_type(equation, operands) if dtype is None else numpy_type(dtype)
    if label in FOREIGN and label in DTYPES:
        return _own_type(label, operands)
    if label in COMPUTED and label not in FOREIGN:
        return label
    if result.name in COMPUTED and label not in FOREIGN and not _copies(equation, operands):
        return result.name
    if len(operands) == 1 and (dtype is None or operands[0].dtype == label):
        array = operands[0].array
        return label if array.dtype == FOREIGN.get(label) else array.dtype
    spans = result.kind == "m" and len(operands) > 1  # which can be summed, not multiplied
    if label in FOREIGN or not computed_by_numpy(result) or spans:
        raise _no_code(equation, operands if dtype is None else (), label)
    return result


def _own_type(label: str, operands: Sequence[Imported]) -> Any:
    """Return the type that a library defines for NumPy: an operand's, or for NumPy's operands any; else its name."""
    own = (operand.array.dtype for operand in operands if operand.array.dtype.name == label)
    found = next(own, None) or registered(label)
    if not operands or any(operand.dtype == label for operand in operands):
        return label if found is None or found.name not in {operand.array.dtype.name for operand in operands} else found
    if found is None:
        raise DTypeError(
            f"NumPy has no type {label}\n  Import ml_dtypes, which gives it one, or pass tensors of torch."
        )
    return found


def registered(label: str) -> np.dtype[Any] | None:
    """Return NumPy's type of a name; None if it has none, as for bfloat16 where `ml_dtypes` is not imported."""
    try:
        return np.dtype(label)
    except TypeError:
        return None


def known_type(label: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that NumPy has now for a name; `dtype`, which its elements travel as, where it has none yet.

    Importing `ml_dtypes` gives it one of bfloat16.
    """
    return (registered(label) or dtype) if label in FOREIGN else dtype


def operand_types(operands: Sequence[Imported], computed: Any) -> tuple[str, ...]:
    """Return the types that operands are read in: their own where code widens what it loads, else the common one.

    Real operands beside complex ones stay real; complex ones are also those of other byte orders and sizes.
    """
    label = numpy_type(computed)[0]
    if label in PAIRS and any(operand.array.dtype.kind == "c" for operand in operands):
        return tuple(label if operand.array.dtype.kind == "c" else PAIRS[label].real.name for operand in operands)
    return tuple(operand.dtype if _is_widened(operand.dtype, label) else label for operand in operands)


def stands_in(operand: Imported) -> bool:
    """Return whether an operand's elements lie in another type's, as torch's of bfloat16 in `uint16`."""
    return operand.dtype in FOREIGN and operand.array.dtype == FOREIGN[operand.dtype]


def wider_results(label: str) -> tuple[str, ...]:
    """Return the names of the types that results may have instead of the one computed in, since sums are kept in them.

    Sums of signed integers may be negative, which `uint32` is not.

    >>> wider_results("bfloat16"), wider_results("int8"), wider_results("uint8"), wider_results("float32")
    (('float32',), ('int32',), ('uint32', 'int32'), ())
    """
    found = DTYPES.get(label)
    if found is None or found.accumulate.name not in DTYPES or found.accumulate == found:
        return ()
    return (found.accumulate.name, *(["int32"] if found.kind is Kind.UNSIGNED else []))


def scaled_sums(label: str, equation: str) -> DType:
    """Return the type of sums that are scaled to float32.

    Raises:
        DTypeError: they are no integers that int32 is the sum of.
    """
    found = DTYPES.get(label)
    if found is None or not found.is_integer or (found.accumulate.size, found) in ((8, found), (4, UINT32)):
        raise DTypeError(
            f"epilogue: 'scale' makes float32 of int32, not of {label}\n{caret_lines(equation, ())}\n"
            "  Use it with operands of int8, uint8, int16, uint16 or int32; 'mul' multiplies others."
        )
    return INT32


def _is_widened(label: str, computed: str) -> bool:
    if label not in DTYPES or computed not in DTYPES:
        return False
    given, target = DTYPES[label], DTYPES[computed]
    if given.size >= target.size:
        return False
    integers = given.is_integer and target.is_integer and given.accumulate.size == target.accumulate.size
    return (integers or given.accumulate == target.accumulate) and promoted(given, target) == target


def _copies(equation: str, operands: Sequence[Imported]) -> bool:
    """Whether elements are only moved, so that other byte orders may stay."""
    return len(operands) == 1 and is_copy(parse_equation(equation, (operands[0].array.ndim,)))


def _common_type(equation: str, operands: Sequence[Imported]) -> tuple[str, np.dtype[Any]]:
    if not operands:
        return numpy_type("float64")
    if len(operands) == 1:
        return operands[0].dtype, operands[0].array.dtype
    labels = [_native_name(operand) for operand in operands]
    if any(label in FOREIGN for label in labels) and all(label in TYPES for label in labels):
        return numpy_type(promoted(*labels).name)
    try:
        result = np.result_type(*(operand.array for operand in operands))
    except TypeError:
        raise _no_code(equation, operands, "none") from None
    if any(map(stands_in, operands)):
        raise _no_code(equation, operands, "none")
    return label_of(result), result


def _native_name(operand: Imported) -> str:
    """Return the name of a type in the machine's byte order."""
    return operand.dtype if operand.dtype in TYPES else operand.array.dtype.newbyteorder("=").name


def _no_code(equation: str, operands: Sequence[Imported], result: str) -> DTypeError:
    """The error for these operands; without any, for the type that was asked for."""
    types = ", ".join(operand.dtype for operand in operands[:8])
    return DTypeError(f"no code for operands of type {types or result}\n{caret_lines(equation, ())}\n  {ADVICE}")
