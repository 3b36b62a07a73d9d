"""einsum of PyTorch tensors: of their memory where it can be had, else an operator, `torch.ops.einloom.einsum`.

Tensors without gradients are read and written where they lie. Those that gradients are wanted of, that stand for many
(`torch.func.vmap`) or for none yet (`torch.compile`) have no memory to give; for these einsum is an operator, whose
gradients are einsums of the same kind, and a batch is one more label.
"""

# pyright: standard
# PyTorch's types are unknown where it is not installed.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
import torch  # pyright: ignore[reportMissingImports]
from torch import Tensor  # pyright: ignore[reportMissingImports]
from torch._subclasses.fake_tensor import FakeTensor  # pyright: ignore[reportMissingImports]
from torch.autograd import forward_ad  # pyright: ignore[reportMissingImports]

from einloom.arrays.dlpack import Imported
from einloom.arrays.library import incoming
from einloom.dtypes import promoted
from einloom.errors import ArgumentError, DTypeError, ShapeError
from einloom.frameworks.call import Call, Computation, carried, evaluate
from einloom.plan.derived import batched, gradient_of
from einloom.plan.equation import caret_lines, parse_equation

__all__ = ["compute", "held", "memory", "operator"]

NO_OUT = "out= takes no gradients, and no tensors of torch.func\n  Leave it out, or pass what detach() returns."

Einsum = Callable[[Call, Sequence[Tensor]], Tensor]

_known_gradient = lru_cache(maxsize=1024)(gradient_of)


def compute(computation: Computation, operands: Sequence[Any], out: Any = None) -> Any:
    """Return the einsum of tensors as a tensor, or `out`.

    Raises:
        ArgumentError: what has no gradient, or `out`, where gradients are wanted.
        DTypeError: tensors that lie elsewhere than in main memory, or types that einloom does not compute in.
    """
    if torch.compiler.is_compiling():
        return _compiled(computation, operands, out)
    if _is_watched():
        return _closely(computation, operands, out)
    try:
        arrays = [_at_once(operand) for operand in operands if type(operand) is Tensor and operand.data_ptr()]
        written = _at_once(out) if type(out) is Tensor and out.data_ptr() else None
    except (RuntimeError, TypeError):  # what has no memory, or needs a closer look
        return _closely(computation, operands, out)
    if len(arrays) != len(operands) or (written is None and out is not None):
        return _closely(computation, operands, out)
    return _direct(computation, arrays, written, out)


def _at_once(tensor: Tensor) -> np.ndarray:
    """Return a tensor's memory, or raise what PyTorch raises for one that needs a closer look."""
    own = _bfloat16() if tensor.dtype == torch.bfloat16 else None
    if own is None or tensor.requires_grad or tensor.is_neg():
        return tensor.numpy()
    return tensor.view(torch.uint16).numpy().view(own)


def _is_watched() -> bool:
    """Whether forward gradients are on, or somebody records operators."""
    return forward_ad._current_level >= 0 or _is_recorded()


def _is_recorded() -> bool:
    """Whether somebody sees operators alone: a mode (`make_fx`, a counter of operators) or `torch.jit.trace`."""
    return torch._C._len_torch_dispatch_stack() > 0 or torch._C._get_tracing_state() is not None


def _direct(computation: Computation, arrays: Sequence[Any], written: Any, out: Any) -> Tensor:
    if out is None:
        return _tensor(computation.on_arrays(arrays), arrays)
    computation.on_arrays(arrays, written)
    if isinstance(out, Tensor):
        torch.autograd.graph.increment_version(out)  # Who saved it for a gradient learns that it has changed.
    return out


def _tensor(result: Any, operands: Sequence[Any]) -> Tensor:
    """Return a fresh result as a tensor. Only results of bfloat16 stand in unsigned integers beside such operands."""
    if result.dtype.isbuiltin == 2:  # bfloat16, which is not NumPy's own; to ask for a type's name takes 2 us
        return torch.from_numpy(np.asarray(result).view(np.uint16)).view(torch.bfloat16)
    tensor = torch.from_numpy(np.asarray(result))
    if result.dtype == np.uint16 and any(type(operand) is Imported for operand in operands):
        return tensor.view(torch.bfloat16)
    return tensor


# ---- tensors of which there is more to know than their memory ----------------------------------------------------


def memory(operand: Any, name: str) -> Any:
    """Return an operand's memory, gradients and bits of conjugates and negatives aside; others than tensors as is.

    Raises:
        DTypeError: it has none that NumPy or einloom could read.
    """
    if not isinstance(operand, Tensor):
        return operand
    found = _reached(_checked(operand, name).resolve_conj())
    if found is None:
        raise DTypeError(f"{name} is a tensor without memory of its own\n  Pass one that holds numbers.")
    return found


def held(operand: Any, name: str) -> Any:
    """Return the memory of a constant, which gradients do not reach.

    Raises:
        DTypeError: as `memory`; or a gradient of it is wanted.
    """
    if isinstance(operand, Tensor) and _has_gradient([operand]):
        raise DTypeError(f"{name} requires gradients, and constants have none\n  Pass its detach().")
    return memory(operand, name)


def _writable(out: Any) -> Any:
    """Return the memory of `out`, which has to hold what the tensor stands for: what is resolved is a copy."""
    if isinstance(out, Tensor) and (out.is_conj() or out.is_neg()):
        raise DTypeError("out stands for the conjugate, or the negative, of what its memory holds\n  Pass its clone().")
    return memory(out, "out")


def _closely(computation: Computation, operands: Sequence[Any], out: Any) -> Any:
    """Compute on tensors of any kind, with what they mean for gradients and transformations."""
    tensors = [_checked(operand, f"operand {position}") for position, operand in enumerate(operands)]
    _check_fakes(tensors)
    arrays = _memories(tensors, out)
    if arrays is None:
        if out is not None:
            raise ArgumentError(NO_OUT)
        return _operated(_carried(computation, tensors), tensors)
    result = _direct(computation, arrays, None if out is None else _writable(out), out)
    is_first = out is not None or isinstance(operands[0], Tensor) or result.dtype == torch.bfloat16
    return result if is_first else result.numpy()[()]


def _check_fakes(tensors: Sequence[Tensor]) -> None:
    """Refuse tensors of a mode that follows shapes alone beside real ones, unless the mode takes these."""
    fakes = [tensor for tensor in tensors if isinstance(tensor, FakeTensor)]
    if fakes and len(fakes) < len(tensors) and not fakes[0].fake_mode.allow_non_fake_inputs:
        position = next(i for i, tensor in enumerate(tensors) if isinstance(tensor, FakeTensor))
        raise DTypeError(
            f"operand {position} is a fake tensor, others are none\n  Pass either all fake or all real ones."
        )


def _has_gradient(things: Sequence[Any]) -> bool:
    tensors = [thing for thing in things if isinstance(thing, Tensor)]
    wanted = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return wanted or any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)


def _checked(operand: Any, name: str) -> Tensor:
    tensor = operand if isinstance(operand, Tensor) else _beside(operand, name)
    if tensor.is_nested and tensor.layout == torch.strided:
        raise DTypeError(f"{name} is a nested tensor, whose rows differ in length\n  Pass its to_padded_tensor(0).")
    if tensor.device.type not in ("cpu", "meta") or tensor.layout != torch.strided:
        raise DTypeError(
            f"{name} is a tensor on {tensor.device} of layout {tensor.layout}\n  Pass its cpu(), or its to_dense()."
        )
    return tensor.resolve_neg()


def _beside(operand: Any, name: str) -> Tensor:
    """Return what stands beside tensors as one: an array of any library, a number or nested lists of them."""
    found = incoming(operand, name)
    array = np.asarray(found.array)
    if found.dtype == "bfloat16":
        return torch.from_numpy(np.ascontiguousarray(array).view(np.uint16)).view(torch.bfloat16)
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    try:
        return torch.from_numpy(native.copy() if min(native.strides, default=0) < 0 else native)
    except TypeError:
        raise DTypeError(f"{name} is an array of type {found.dtype}, which tensors lack\n  Convert it.") from None


def _memories(tensors: Sequence[Tensor], out: Any = None) -> list[Any] | None:
    """Return the memory of tensors that nothing but their memory matters of; None if one is of another kind."""
    if _is_recorded():
        return None
    found = [_reached(tensor.resolve_conj()) for tensor in tensors]
    return None if any(each is None for each in found) or _has_gradient([*tensors, out]) else found


def _plain_memories(tensors: Sequence[Tensor]) -> list[np.ndarray] | None:
    """Return the memory of tensors at once where no gradient is wanted, if they hold nothing but numbers; else None."""
    if torch.is_grad_enabled() or _is_watched() or any(type(tensor) is not Tensor for tensor in tensors):
        return None
    try:
        found = [tensor.detach().numpy() for tensor in tensors if tensor.data_ptr()]
        return found if len(found) == len(tensors) else None
    except (RuntimeError, TypeError):  # what has no memory, or needs a closer look
        return None


@lru_cache(maxsize=1024)
def _has_own_dispatch(kind: type) -> bool:
    """Whether a class says itself what operators do with its tensors."""
    return any("__torch_dispatch__" in vars(each) for each in kind.__mro__ if not issubclass(Tensor, each))


@lru_cache(maxsize=1)
def _bfloat16() -> np.dtype[Any] | None:
    """Return NumPy's type of bfloat16, if `ml_dtypes` has one: arrays of NumPy's types enter generated code at once."""
    try:
        return np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None


def _reached(tensor: Tensor) -> np.ndarray | Imported | None:
    if _has_own_dispatch(type(tensor)) or tensor.device.type == "meta":
        return None
    try:
        plain = tensor.detach().resolve_neg()
        if not plain.data_ptr() and plain.numel():  # NumPy would make memory up.
            return None
        if plain.dtype == torch.bfloat16:
            words, own = plain.view(torch.uint16).numpy(), _bfloat16()
            return Imported(words, "bfloat16") if own is None else words.view(own)
        return plain.numpy()
    except (RuntimeError, ValueError):  # a tensor of torch.func, or one without numbers
        return None
    except TypeError:
        raise DTypeError(f"no code for tensors of type {tensor.dtype}\n  Convert the tensor.") from None


# ---- the operator ------------------------------------------------------------------------------------------------


def _compute(operands: Any, equation: Any, conj: Any, optimize: Any, schedule: Any, threads: Any) -> Tensor:
    """Compute on tensors that have memory; PyTorch calls it below gradients and transformations."""
    arrays = [memory(operand, f"operand {position}") for position, operand in enumerate(operands)]
    return _tensor(evaluate(Call(equation, tuple(conj), optimize, schedule, threads), arrays), arrays)


operator: Any = torch.library.custom_op(
    "einloom::einsum",
    mutates_args=(),
    schema="(Tensor[] operands, str equation, int[] conj, str optimize, str schedule, int? threads) -> Tensor",
)(_compute)


@operator.register_fake
def _result_like(operands: Any, equation: Any, conj: Any, optimize: Any, schedule: Any, threads: Any) -> Tensor:
    """Return a result without memory: its shape may be of symbols."""
    parsed = parse_equation(equation, tuple(operand.dim() for operand in operands))
    extents: dict[str, Any] = {}
    for term, operand in zip(parsed.inputs, operands):
        for label, extent in zip(term, operand.shape):
            if label not in extents or extents[label] == 1:
                extents[label] = extent
            elif extent != 1 and extent != extents[label]:
                raise ShapeError(f"axis {label} has two extents\n{caret_lines(equation, ())}")
    return operands[0].new_empty([extents[label] for label in parsed.output], dtype=_common_type(operands))


def _common_type(operands: Sequence[Tensor]) -> Any:
    names = {str(operand.dtype).removeprefix("torch.") for operand in operands}
    name = names.pop() if len(names) == 1 else promoted(*names).name
    return torch.bool if name == "truth" else vars(torch)[name]


def _words(call: Call) -> tuple[Any, ...]:
    return call.equation, list(call.conj), call.optimize, call.schedule, call.threads


def _carried(computation: Computation, tensors: Sequence[Tensor]) -> Call:
    shapes = [tuple(tensor.shape) for tensor in tensors]
    return carried(computation, shapes, lambda: [str(tensor.dtype).removeprefix("torch.") for tensor in tensors])


def _compiled(computation: Computation, operands: Sequence[Any], out: Any) -> Tensor:
    """Compute while `torch.compile` reads this."""
    tensors = [torch.as_tensor(operand) for operand in operands]
    call = _carried(computation, tensors)
    if out is None:
        return operator(tensors, *_words(call))
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in [*tensors, out]):
        raise ArgumentError(NO_OUT)
    result = operator(tensors, *_words(call))
    if result.shape != out.shape or result.dtype != out.dtype:
        raise ShapeError(f"out is {out.dtype} {tuple(out.shape)}, the result {result.dtype} {tuple(result.shape)}")
    return out.copy_(result)


def _gradients(call: Call, operands: Sequence[Tensor], grad: Tensor, needed: Sequence[bool], einsum: Einsum) -> Any:
    """Return the gradients of the operands that need one, by einsums."""
    positions = range(len(operands))
    return [_gradient(call, operands, grad, i, einsum) if needed[i] else None for i in positions]


def _gradient(call: Call, operands: Sequence[Tensor], grad: Tensor, position: int, einsum: Einsum) -> Tensor:
    own = operands[position]
    shapes = tuple(tuple(operand.shape) for operand in operands)
    numbers = all(type(extent) is int for shape in shapes for extent in shape)  # Symbols have no hash.
    wanted = (_known_gradient if numbers else gradient_of)(call.equation, shapes, position, call.conj)
    factors = [grad, *(operands[i] for i in wanted.others)]
    factors += [grad.new_ones(extent) for extent in wanted.ones]
    factors += [torch.eye(extent, dtype=grad.dtype) for extent in wanted.identities]
    conj = wanted.conj if grad.is_complex() else ()
    result = einsum(Call(wanted.equation, conj, threads=call.threads), factors)
    if result.dtype == own.dtype and result.shape == own.shape:
        return result
    real = result.real if result.is_complex() and not own.is_complex() else result
    return real.reshape(wanted.shape).to(own.dtype)


def _save(ctx: Any, inputs: Any, output: Tensor) -> None:
    operands, equation, conj, _, _, threads = inputs
    ctx.save_for_backward(*operands)
    ctx.call = Call(equation, tuple(conj), threads=threads)


def _backward(ctx: Any, grad: Tensor) -> Any:
    def einsum(call: Call, tensors: Sequence[Tensor]) -> Tensor:
        return operator(list(tensors), *_words(call))

    needed = ctx.needs_input_grad[0]
    found = _gradients(ctx.call, ctx.saved_tensors, grad, needed, einsum)
    return found, None, [None] * len(ctx.call.conj), None, None, None


operator.register_autograd(_backward, setup_context=_save)


@operator.register_vmap
def _many(info: Any, in_dims: Any, operands: Any, equation: str, conj: Any, optimize: str, *rest: Any) -> Any:
    text = _batched(equation, operands, in_dims[0])
    return operator(operands, text, conj, optimize, "", rest[-1]), 0


def _batched(equation: str, operands: Sequence[Tensor], axes: Sequence[int | None]) -> str:
    ranks = [operand.dim() - (axis is not None) for operand, axis in zip(operands, axes)]
    return batched(equation, ranks, axes)


def _many_of_old(operands: Any, equation: str, conj: Any, optimize: str, schedule: str, threads: Any) -> Tensor:
    """Compute under the older vmap, which batched gradients use: operands that are no batch get one of extent 1."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    plain = [torch._remove_batch_dim(operand, level, 1, 0) for operand in operands]  # pyright: ignore[reportPrivateImportUsage]
    text = _batched(equation, plain, [0] * len(plain))
    return torch._add_batch_dim(operator(plain, text, conj, optimize, "", threads), 0, level)  # pyright: ignore[reportPrivateImportUsage]


torch.library.impl("einloom::einsum", "Batched", func=_many_of_old)


# ---- eager gradients and torch.func, which an operator alone does not serve --------------------------------------


class _Einsum(torch.autograd.Function):
    """einsum with gradients in both modes, and as one more label under `torch.func.vmap`."""

    @staticmethod
    def forward(call: Call, *operands: Tensor) -> Tensor:
        arrays = _memories(operands)
        return operator(list(operands), *_words(call)) if arrays is None else _tensor(evaluate(call, arrays), arrays)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.call, *operands = inputs
        ctx.save_for_backward(*operands)
        ctx.save_for_forward(*operands)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return None, *_gradients(ctx.call, ctx.saved_tensors, grad, ctx.needs_input_grad[1:], _einsum)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        operands = ctx.saved_tensors
        terms = [
            _einsum(ctx.call, [*operands[:i], tangent, *operands[i + 1 :]])
            for i, tangent in enumerate(tangents)
            if tangent is not None
        ]
        return sum(terms[1:], terms[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, call: Call, *operands: Tensor) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        text = _batched(call.equation, operands, in_dims[1:])
        return _einsum(Call(text, call.conj, call.optimize, threads=call.threads), operands), 0


def _einsum(call: Call, operands: Sequence[Tensor]) -> Tensor:
    """Compute on any tensors; gradients of first order are computed on memory."""
    arrays = _plain_memories(operands) or _memories(operands)
    return _operated(call, operands) if arrays is None else _tensor(evaluate(call, arrays), arrays)


def _operated(call: Call, operands: Sequence[Tensor]) -> Tensor:
    """Compute by the operator with gradients; what is the conjugate of its memory, einsum conjugates."""
    lazy = {position for position, tensor in enumerate(operands) if tensor.is_conj()}
    plain = [tensor.conj() if position in lazy else tensor for position, tensor in enumerate(operands)]
    conj = tuple(sorted(lazy.symmetric_difference(call.conj)))
    call = replace(call, conj=conj) if lazy else call
    follows: Callable[[Tensor], bool] = torch._is_functional_tensor  # pyright: ignore[reportPrivateImportUsage]
    if any(map(follows, plain)):  # torch.func.functionalize takes no Function
        return operator(plain, *_words(call))
    return _Einsum.apply(call, *plain)
