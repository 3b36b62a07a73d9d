"""PyTorch: tensors come in and go out, gradients are einsums, transformations and `torch.compile` see an operator."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import einloom as el

torch: Any = pytest.importorskip("torch")
DOUBLE, COMPLEX = torch.float64, torch.complex128

LANGUAGE = [
    ("ab,bc->ac", [(2, 3), (3, 4)]),
    ("ab,bc,cd->da", [(2, 3), (3, 4), (4, 2)]),
    ("ab->b", [(2, 3)]),
    ("aab->b", [(3, 3, 2)]),
    ("aaa->", [(2, 2, 2)]),
    ("ab,ab->", [(2, 3), (2, 3)]),
    (",a->a", [(), (3,)]),
    ("ab,b->a", [(2, 3), (1,)]),
    ("...a,aab,b->...", [(2, 3), (3, 3, 1), (4,)]),
    ("...ab,...bc", [(2, 1, 2, 3), (4, 3, 2)]),
]


def random(shape: tuple[int, ...], dtype: Any = DOUBLE, gradient: bool = False) -> Any:
    made = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))
    return made.requires_grad_(gradient)


def einsum_of(equation: str, **options: Any) -> Callable[..., Any]:
    return lambda *operands: el.einsum(equation, *operands, **options)


def test_results_are_tensors() -> None:
    a, b = random((2, 3)), random((3, 4))
    f = el.compile("ab,bc->ac", a, b)
    for result in (el.einsum("ab,bc->ac", a, b), f(a, b), el.einsum("ab,bc->ac", a, b, threads=1), el.matmul(a, b)):
        assert type(result) is torch.Tensor and torch.allclose(result, a @ b, rtol=1e-14)
    scalar = el.einsum("ab,ab->", a, a)
    assert scalar.shape == () and torch.allclose(scalar, (a * a).sum())
    assert type(el.einsum("ab,bc->ac", a.numpy(), b)) is np.ndarray  # The first operand decides.
    assert torch.allclose(el.einsum("ab,bc->ac", a, b, alpha=2.0, epilogue=["relu"]), (2 * a @ b).relu())


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "complex64", "bool"])
def test_types_stay(dtype: str) -> None:
    a = torch.ones(2, 2, dtype=vars(torch)[dtype])
    f = el.compile("ab,bc->ac", a, a)
    asked = [{"threads": 1}, {"order": "F"}, {"dtype": a.dtype}, {"dtype": dtype, "out": torch.empty_like(a)}]
    results = [el.einsum("ab,bc->ac", a, a, **options) for options in asked]
    for result in (*results, el.einsum("ab,bc->ac", a, a), f(a, a), f(a, a, out=torch.empty_like(a))):
        assert result.dtype == a.dtype and torch.equal(result, torch.full((2, 2), 2).to(a.dtype))


def test_bfloat16_is_the_same_where_numpy_has_no_type_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = random((5, 7), torch.bfloat16), random((7, 3), torch.bfloat16)
    negative = torch._neg_view(a)
    wanted = [el.einsum("ab,bc->ac", *each) for each in ((a, b), (negative, b), (a[:, ::2], b[::2]))]
    assert torch.equal(wanted[0], -wanted[1])
    monkeypatch.setattr("einloom.frameworks.on_torch._bfloat16", lambda: None)
    for each, result in zip(((a, b), (negative, b), (a[:, ::2], b[::2])), wanted):
        out = torch.empty_like(result)
        assert el.einsum("ab,bc->ac", *each, out=out) is out and torch.equal(out, result)
        assert torch.equal(el.einsum("ab,bc->ac", *each), result)


def test_bfloat16_has_gradients_also_where_a_call_without_them_was_remembered() -> None:
    a, b = torch.ones(5, 7, dtype=torch.bfloat16), torch.ones(7, 3, dtype=torch.bfloat16)
    for _ in range(2):
        assert not el.einsum("ab,bc->ac", a, b).requires_grad
    a.requires_grad_()
    el.einsum("ab,bc->ac", a, b).sum().backward()
    assert a.grad is not None and torch.equal(a.grad, torch.full_like(a, 3))


def test_types_are_asked_for_by_their_own_name() -> None:
    a = torch.ones(2, 2)
    assert el.einsum("ab,bc->ac", a, a, dtype=torch.float64).dtype == torch.float64
    assert el.compile("ab,bc->ac", (2, 2), (2, 2), dtype=torch.float16).dtype == np.float16
    with pytest.raises(el.DTypeError, match="float8_e5m2"):  # which NumPy has where ml_dtypes is there
        el.einsum("ab,bc->ac", a, a, dtype=torch.float8_e5m2)


def test_out_is_written_and_known_to_have_changed() -> None:
    a, out = random((3, 3)), torch.empty(3, 3, dtype=DOUBLE)
    assert el.einsum("ab,bc->ac", a, a, out=out) is out and torch.allclose(out, a @ a)
    array = np.empty((3, 3))
    assert el.einsum("ab,bc->ac", a, a, out=array) is array and np.allclose(array, a @ a)
    saved = random((3, 3), gradient=True) * 1
    loss = (saved * saved).sum()
    el.einsum("ab->ba", a, out=saved.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_conjugates_and_negatives() -> None:
    a, b = random((2, 3), COMPLEX), random((3, 4), COMPLEX)
    assert torch.allclose(el.einsum("ab,bc->ac", a.conj(), b), a.conj() @ b)
    assert torch.allclose(el.einsum("ab,bc->ac", a.conj(), b, conj=(0, 1)), a @ b.conj())
    assert torch.allclose(el.einsum("ab,bc->ac", a.conj().imag, b.real), -a.imag @ b.real)
    left, right = (each.detach().requires_grad_() for each in (a, b))
    assert torch.autograd.gradcheck(lambda x, y: el.einsum("ab,bc->ac", x.conj(), y), (left, right))


@pytest.mark.parametrize(("equation", "shapes"), LANGUAGE)
def test_gradients(equation: str, shapes: list[tuple[int, ...]]) -> None:
    """To second order, forwards and backwards, against differences of results."""
    operands = [random(shape, gradient=True) for shape in shapes]
    assert torch.autograd.gradcheck(einsum_of(equation), operands, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(einsum_of(equation), operands)


def test_conjugates_and_negatives_are_not_written() -> None:
    a = random((3, 3), torch.complex64)
    for out, left in ((torch.zeros_like(a).conj(), a), (torch.zeros_like(a).conj().imag, a.real)):
        with pytest.raises(el.DTypeError, match="the conjugate, or the negative"):
            el.einsum("ab,bc->ac", left, left, out=out)


@pytest.mark.parametrize("conj", [(), (0,), (0, 1)])
def test_gradients_of_complex_numbers(conj: tuple[int, ...]) -> None:
    operands = random((2, 3), COMPLEX, True), random((3, 2), COMPLEX, True)
    assert torch.autograd.gradcheck(einsum_of("ab,bc->ac", conj=conj), operands, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(einsum_of("ab,bc->ac", conj=conj), operands)
    mixed = random((2, 3), gradient=True), operands[1]
    assert torch.autograd.gradcheck(einsum_of("ab,bc->ac", conj=conj), mixed)


def test_gradients_have_the_operands_types() -> None:
    a, b = random((2, 3), torch.bfloat16, True), random((3, 4), torch.float32, True)
    el.einsum("ab,bc->ac", a, b).sum().backward()
    assert a.grad.dtype == torch.bfloat16 and b.grad.dtype == torch.float32
    assert torch.allclose(b.grad, a.detach().float().sum(0)[:, None].expand(3, 4))


def test_gradients_through_compiled_expressions_paths_and_schedules() -> None:
    a = random((6, 6), torch.float32, True)
    schedule = el.compile("ab,bc->ac", (6, 6), (6, 6), dtype="float32").schedule
    for f in (el.compile("ab,bc->ac", a, a, schedule=schedule), einsum_of("ab,bc->ac", optimize=[(0, 1)], threads=1)):
        (grad,) = torch.autograd.grad(f(a, a).sum(), a)
        assert torch.allclose(grad, torch.autograd.grad((a @ a).sum(), a)[0], rtol=1e-5)
    with pytest.raises(el.ShapeError, match="compiled for"):
        el.compile("ab,bc->ac", a, a)(a[:3], a)


def test_no_gradients_no_operator() -> None:
    a = random((3, 3), gradient=True)
    with torch.no_grad():
        assert not el.einsum("ab->ba", a).requires_grad
        out = torch.empty(3, 3, dtype=DOUBLE)
        assert el.einsum("ab->ba", a, out=out) is out


def test_who_records_operators_sees_one() -> None:
    """Tensors are real there, but what is computed on their memory would become a constant."""
    from torch.fx.experimental.proxy_tensor import make_fx

    a, b = random((2, 3)), random((3, 4))
    graph = make_fx(einsum_of("ab,bc->ac"))(a, b)
    assert "einloom.einsum" in graph.code and torch.allclose(graph(2 * a, b), 2 * a @ b)
    gradients = make_fx(lambda x: torch.autograd.grad(el.einsum("ab,bc->ac", x, b).sum(), x)[0])
    assert "einloom.einsum" in gradients(a.requires_grad_()).code


def test_what_has_no_gradient_is_refused() -> None:
    a = random((3, 3), gradient=True)
    with pytest.raises(el.ArgumentError, match="out= takes no gradients"):
        el.einsum("ab->ba", a, out=torch.empty(3, 3, dtype=DOUBLE))
    with pytest.raises(el.ArgumentError, match="out= takes no gradients"):
        el.einsum("ab->ba", a.detach(), out=torch.empty(3, 3, dtype=DOUBLE, requires_grad=True))
    refused: dict[str, dict[str, Any]] = {
        "epilogue=": {"epilogue": ["relu"]},
        "alpha=2.0": {"alpha": 2.0, "threads": 1},
        "dtype='float32'": {"dtype": "float32", "casting": "same_kind"},
        "memory_limit=9": {"memory_limit": 9},
        "order='F'": {"order": "F"},
        "target='interpreter'": {"target": "interpreter"},
    }
    for named, options in refused.items():
        with pytest.raises(el.ArgumentError) as caught:
            el.einsum("ab,bc->ac", a, a, **options)
        first, advice = str(caught.value).splitlines()
        assert first == f"no gradients and no compilation of an einsum with {named}" and advice.startswith("  ")
    with pytest.raises(el.ArgumentError, match="an einsum with constants=\n  Pass them as operands"):
        el.compile("ab,bc->ac", a, a.detach(), constants={1: a.detach()})(a)
    with pytest.raises(el.ArgumentError, match="contract_path"):
        el.einsum("ab,bc,cd->ad", a, a, a, optimize=lambda *given: [(0, 1), (0, 1)])
    with pytest.raises(el.ArgumentError, match="out="):
        torch.func.vmap(lambda x: el.einsum("ab->ba", x, out=torch.empty(3, 3, dtype=DOUBLE)))(a.detach()[None])


NO_CHANGE: list[dict[str, Any]] = [
    {"dtype": "float64"},
    {"dtype": DOUBLE, "casting": "no"},
    {"order": "C"},
    {"order": "K", "casting": "safe"},
    {"casting": "same_kind"},
    {"memory_limit": -1},
    {"threads": 1, "alpha": 1, "beta": 0, "epilogue": ()},
]


@pytest.mark.parametrize("options", NO_CHANGE, ids=str)
def test_options_that_change_nothing_have_gradients(options: dict[str, Any]) -> None:
    operands = random((2, 3), gradient=True), random((3, 4), gradient=True)
    f = einsum_of("ab,bc->ac", **options)
    assert torch.autograd.gradcheck(f, operands, check_forward_ad=True)
    assert torch.allclose(torch.func.vmap(f)(*(each[None] for each in operands))[0], operands[0] @ operands[1])


def test_casts_that_are_not_allowed_are_refused_with_gradients() -> None:
    with pytest.raises(el.ArgumentError, match="an einsum with casting='no'\n  Leave it out"):
        el.einsum("ab,bc->ac", random((2, 3), torch.float32, True), random((3, 4)), casting="no")


def test_tensors_that_are_elsewhere_are_refused() -> None:
    a = random((3, 3), torch.float32)
    for tensor in (a.to_sparse(), a.to(torch.float8_e4m3fn)):
        with pytest.raises(el.DTypeError, match="tensor"):
            el.einsum("ab,bc->ac", tensor, a)
        with pytest.raises(el.DTypeError):
            el.compile("ab,bc->ac", tensor, a)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
def test_tensors_without_one_shape_or_without_numbers_are_refused() -> None:
    """Wherever they come: as operands, constants and results; and fake ones beside real ones."""
    with torch._subclasses.FakeTensorMode():
        fake = torch.empty(3, 3)
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    real: Any = np.ones((3, 3), "float32")
    f = el.compile("ab,bc->ac", real, real)
    calls = {
        "nested tensor": [
            lambda: el.einsum("abc,cd->abd", nested, torch.ones(3, 3)),
            lambda: el.compile("abc,cd->abd", nested, real),
            lambda: el.compile("abc,cd->abd", (2, 4, 3), real, constants={0: nested}, dtype="float32"),
        ],
        "fake tensor": [lambda: el.einsum("ab,bc->ac", real, fake), lambda: f(fake, real)],
        "memory": [
            lambda: el.compile("ab,bc->ac", real, real, constants={1: fake}),
            lambda: el.compile("ab,bc->ac", real, real, constants={1: torch.ones(3, 3, device="meta")}),
            lambda: el.einsum("ab,bc->ac", real, real, out=fake),
        ],
        "sparse": [lambda: el.compile("ab,bc->ac", real, real, constants={0: torch.eye(3).to_sparse()})],
        "requires gradients": [
            lambda: el.compile("ab,bc->ac", real, real, constants={0: torch.eye(3).requires_grad_()})
        ],
    }
    for text, refused in calls.items():
        for call in refused:
            with pytest.raises(el.DTypeError, match=text):
                call()


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(
    ("operand", "text"),
    [
        (None, "is a NoneType, no array and no number"),
        ({}, "is a dict, no array"),
        (object(), "is a object, no array"),
        ("x", "type <U1"),
        ([["a"]], "type <U1"),
        (np.zeros((3, 3), "M8[s]"), "type datetime64"),
        (np.ma.ones((3, 3)), "mask would be lost"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_what_is_no_array_is_refused_beside_a_tensor(operand: Any, text: str, position: int) -> None:
    for tensor in (torch.ones(3, 3), torch.ones(3, 3, requires_grad=True)):
        operands = [tensor, tensor]
        operands[position] = operand
        with pytest.raises(el.DTypeError, match=f"operand {position} is .*{text.removeprefix('is a ')}"):
            el.einsum("ab,bc->ac", *operands)
        with pytest.raises(el.ShapeError, match="rows of one length"):
            el.einsum("ab,bc->ac", tensor, [[1, 2], [3]])


def test_arrays_that_torch_has_no_form_of_stand_beside_tensors() -> None:
    """Of another byte order, walked backwards, of bfloat16: with gradients as well."""
    wanted, array = random((3, 4), torch.float32), np.arange(20, dtype="float32").reshape(4, 5)
    backwards = np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    given: list[Any] = [array.astype(">f4"), backwards, array[:, ::-1].copy()[:, ::-1]]
    with suppress(ImportError):
        given.append(array.astype(import_module("ml_dtypes").bfloat16))
    for other in given:
        for tensor in (wanted, wanted.clone().requires_grad_()):
            result = el.einsum("ab,bc->ac", tensor, other)
            assert torch.allclose(result, wanted @ torch.from_numpy(array))
            assert result.requires_grad == tensor.requires_grad


def test_tensors_are_constants() -> None:
    a, b = random((3, 4), torch.float32), random((4, 5), torch.float32)
    assert torch.allclose(el.compile("ab,bc->ac", a, b, constants={1: b})(a), a @ b)
    wide, narrow = a.to(torch.bfloat16), b.to(torch.bfloat16)
    found = el.compile("ab,bc->ac", wide, narrow, constants={1: narrow})(wide)
    assert found.dtype == torch.bfloat16 and torch.allclose(found.float(), a @ b, atol=0.2)


def test_vmap_is_one_more_label() -> None:
    a, b = random((5, 2, 3)), random((3, 4, 5))
    f = einsum_of("ab,bc->ac")
    assert torch.allclose(torch.func.vmap(f, in_dims=(0, 2))(a, b), torch.einsum("zab,bcz->zac", a, b))
    assert torch.allclose(
        torch.func.vmap(f, in_dims=(None, 2), out_dims=1)(a[0], b).movedim(1, 0), a[0] @ b.movedim(2, 0)
    )
    nested = torch.func.vmap(torch.func.vmap(einsum_of("...a,a->..."), in_dims=(0, None)), in_dims=(None, 0))
    assert torch.allclose(nested(a, b[:, :, 0].T), torch.einsum("xya,za->zxy", a, b[:, :, 0].T))
    per_sample = torch.func.vmap(torch.func.grad(lambda x, y: f(x, y).pow(2).sum()), in_dims=(0, None))
    assert torch.allclose(per_sample(a, b[..., 0]), 2 * (a @ b[..., 0]) @ b[..., 0].T)


def test_torch_func() -> None:
    a, b = random((2, 3)), random((3, 4))
    f = einsum_of("ab,bc->ac")
    value, tangent = torch.func.jvp(lambda x, y: f(x, y), (a, b), (b[:, :2].T, b))
    assert torch.allclose(value, a @ b) and torch.allclose(tangent, b[:, :2].T @ b + a @ b)
    hessian = torch.func.hessian(lambda x: f(x, b).pow(2).sum())(a)
    assert torch.allclose(hessian.reshape(6, 6), torch.kron(torch.eye(2, dtype=DOUBLE), 2 * b @ b.T))
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(a, b[:, :2].T)
        found = torch.autograd.forward_ad.unpack_dual(f(dual, b)).tangent
    assert torch.allclose(found, b[:, :2].T @ b)


def test_fake_tensors_and_meta_tensors() -> None:
    with torch._subclasses.FakeTensorMode():
        a = torch.empty(2, 3, dtype=torch.bfloat16, requires_grad=True)
        result = el.einsum("ab,cb->ac", a, a)
        assert result.shape == (2, 2) and result.dtype == torch.bfloat16
        assert torch.autograd.grad(result.sum(), a)[0].shape == (2, 3)
    assert el.einsum("ab,cb->ac", *[torch.empty(2, 3, device="meta")] * 2).device.type == "meta"


def test_the_operator_is_a_good_citizen() -> None:
    given = [random((2, 3), gradient=True), random((3, 4), gradient=True)]
    checks = torch.library.opcheck(torch.ops.einloom.einsum, (given, "ab,bc->ac", [], "auto", "", None))
    assert set(checks.values()) == {"SUCCESS"}


def layers() -> dict[str, Callable[..., Any]]:
    f = el.compile("ab,bc->ac", (2, 3), (3, 4))
    return {
        "einsum": lambda a, b: el.einsum("ab,bc->ac", a, b) + 1,
        "lists": lambda a, b: el.einsum(a, [0, 1], b, [1, 2], [0, 2]) + 1,
        "expression": lambda a, b: f(a, b) + 1,
        "products": lambda a, b: el.matmul(a, b) + el.tensordot(a, b, 1).sin() ** 0,
        "out": lambda a, b: f(a, b, out=torch.ones(2, 4, dtype=DOUBLE)) + 1,
        "vmap": lambda a, b: torch.func.vmap(einsum_of("a,ab->b"), in_dims=(0, None))(a, b) + 1,
    }


@pytest.mark.parametrize("name", ["einsum", "lists", "expression", "products", "out", "vmap"])
def test_torch_compile_sees_one_graph(name: str) -> None:
    a, b = random((2, 3)), random((3, 4))
    compiled = torch.compile(layers()[name], fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(a, b), a @ b + 1)
    if name != "out":
        a.requires_grad_()
        (grad,) = torch.autograd.grad(compiled(a, b).sum(), a)
        assert torch.allclose(grad, b.sum(1).expand(2, 3))


def test_torch_compile_with_open_extents() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda a, b: el.einsum("ab,bc->ac", a, b), fullgraph=True, dynamic=True, backend=backend)
    for extent in (5, 6, 7):
        a, b = random((extent, 3)), random((3, extent + 1))
        assert torch.allclose(compiled(a, b), a @ b)
    assert len(graphs) == 1


def test_modules_with_einsums_train_and_copy() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(random((3, 4), torch.float32))

        def forward(self, x: Any) -> Any:
            return el.einsum("bi,io->bo", x, self.weight)

    layer, x = Layer(), random((8, 3), torch.float32)
    step = torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = (copy.deepcopy(layer)(x).detach() * 0 + layer(x) - 1).pow(2).mean()
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True) and losses[-1] < losses[0]


def test_batched_gradients_take_the_older_vmap() -> None:
    a, b = random((2, 3), gradient=True), random((3, 4))
    grads = random((5, 2, 4))
    (found,) = torch.autograd.grad(einsum_of("ab,bc->ac")(a, b), a, grads, is_grads_batched=True)
    assert torch.allclose(found, grads @ b.T)
    hessian = torch.autograd.functional.hessian(lambda x: el.einsum("ab,bc,ac->", x, b, x @ b), a, vectorize=True)
    assert torch.allclose(hessian.reshape(6, 6), torch.kron(torch.eye(2, dtype=DOUBLE), 2 * b @ b.T))


@pytest.mark.filterwarnings("ignore:.*torch.jit.trace:DeprecationWarning", "error::torch.jit.TracerWarning")
def test_who_records_or_follows_einsum_sees_the_operator() -> None:
    a, b = random((2, 3)), random((3, 4))
    traced = torch.jit.trace(einsum_of("ab,bc->ac"), (a, b))
    assert torch.allclose(traced(2 * a, b), 2 * a @ b)
    pure = torch.func.functionalize(lambda x: el.einsum("ab,bc->ac", x, b) + 1)
    assert torch.allclose(pure(a), a @ b + 1)


def test_freed_memory_is_neither_read_nor_written() -> None:
    a, b, freed = random((2, 3)), random((3, 4)), random((2, 4))
    freed.untyped_storage().resize_(0)
    f = el.compile("ab,bc->ac", a, b)
    for call in (
        lambda: el.einsum("ac,bc->ab", freed, b),
        lambda: el.einsum("ab,bc->ac", a, b, out=freed),
        lambda: f(a, b, out=freed),
    ):
        with pytest.raises(el.DTypeError, match="without memory"):
            call()


def test_subclasses_of_tensors_have_memory() -> None:
    class Image(torch.Tensor):
        pass

    a, b = random((2, 3)), random((3, 4))
    assert torch.allclose(el.einsum("ab,bc->ac", a.as_subclass(Image), b), a @ b)
    image = a.clone().as_subclass(Image).requires_grad_()
    el.einsum("ab,bc->ac", image, b).sum().backward()
    assert torch.allclose(image.grad, b.sum(1).expand(2, 3))
    out = torch.empty(2, 4, dtype=DOUBLE).as_subclass(Image)
    assert el.einsum("ab,bc->ac", a, b, out=out) is out and torch.allclose(out, a @ b)
