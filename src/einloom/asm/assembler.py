"""The part of an assembler that every ISA shares: buffer, labels and fix-ups, data behind the code, listing.

It knows no instruction. A subclass gives `form_encoder` (a mnemonic's encoder, made on first use), `text`, `padding`.

There are two assemblers for each ISA. `Assembler(isa)` says which mnemonics are near one that does not exist: Python
asks it for every attribute that it does not find, and looks up all attributes of such an object slowly. The compiler's,
`Assembler.plain(isa)`, has all mnemonics as attributes from the beginning, and is asked for none.

>>> asm = Assembler("aarch64")
>>> top = asm.label("loop")
>>> asm.sub(asm.x[0], asm.x[0], 1)
>>> asm.cbnz(asm.x[0], top)
>>> asm.bytes().hex()
'000400d1e0ffffb5'
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from keyword import iskeyword
from operator import itemgetter
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

from einloom.errors import EncodingError

ISAS = {
    "x86_64": ("einloom.asm.x86.assembler", "X86Assembler"),
    "aarch64": ("einloom.asm.aarch64.assembler", "AArch64Assembler"),
}


class Form(Protocol):
    """One row: what the assembler itself reads of it."""

    @property
    def mnemonic(self) -> str:
        """The name that the assembler's method has."""
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """The ISA features that the instruction needs."""
        ...


class Directive(Enum):
    """A record that is no instruction; its place in the record is the form's."""

    LABEL = "label"
    COMMENT = "comment"
    PADDING = "padding"

    __hash__ = object.__hash__


# (form, operands, code); for a Directive the operand is its label, text or boundary. A record knows no position: the
# same one may stand for every instruction with the same operands.
Record: TypeAlias = tuple[Any, Any, bytes]
Memory = dict[tuple[Any, ...], Record]
# encode(asm, operands): returns the record, and appends to `asm.fixups` where a label is used. The instruction will
# start at `asm.size`. Raises EncodingError.
Encoder: TypeAlias = Callable[["Assembler", tuple[Any, ...]], Record]
# patch(code, position, target, label): writes the way to byte offset `target`, where the label is, into `code`. Raises
# EncodingError if that is too far.
Patch: TypeAlias = Callable[[bytearray, int, int, "Label"], None]


class Mark(NamedTuple):
    """A place in an assembler's code: records and bytes before it, and labels that were bound or used."""

    record: int
    byte: int
    labels: int


class UnknownMnemonic(EncodingError, AttributeError):
    """No row has this mnemonic. The message lists the nearest; `hasattr` on an assembler works."""


class Label:
    """A place in one assembler's code or data; `position` is its byte offset in the code once it is bound there."""

    __slots__ = ("name", "owner", "position")

    def __init__(self, name: str, owner: Assembler) -> None:
        self.name = name
        self.owner = owner
        self.position: int | None = None

    def __repr__(self) -> str:
        return f"Label({self.name!r}, {'not bound' if self.position is None else self.position})"


class Assembler:
    """Assemble for an ISA, `"x86_64"` or `"aarch64"`: one method per mnemonic (`asm.add(…)`), made on first use.

    Mnemonics that Python reserves take a trailing underscore: `and_`, `or_`, `not_`.

    Attributes:
        instructions: the class that the ISA's methods are kept on.
    """

    isa: ClassVar[str] = ""
    instructions: ClassVar[type[Assembler]]
    comment_prefix: ClassVar[str] = ";"
    code_width: ClassVar[int] = 24  # characters that the listing keeps for an instruction's code

    def __new__(cls, isa: str | None = None) -> Self:
        if cls is not Assembler:
            return super().__new__(cls)
        return super().__new__(_class_for(isa))

    def __init_subclass__(cls) -> None:
        if "isa" in vars(cls):
            cls.instructions = cls

    @staticmethod
    def plain(isa: str) -> Assembler:
        """Return an assembler that raises Python's own AttributeError for what is no mnemonic, and is faster for it."""
        return _with_mnemonics(_class_for(isa).instructions)()

    def __init__(self, isa: str | None = None) -> None:
        self.buffer = bytearray()
        self.records: list[Record] = []
        self.repeats: list[tuple[int, int, int]] = []
        self.fixups: list[tuple[int, Label, Patch]] = []
        self._constants: dict[Label, tuple[bytes, int]] = {}
        self._interned: dict[tuple[bytes, int], Label] = {}
        self._bound: list[Label] = []
        self._names: dict[str, int] = {}
        self._required: set[str] = set()

    # What an ISA provides

    @classmethod
    def form_encoder(cls, mnemonic: str, memory: Memory) -> Encoder | None:
        """Return the encoder of all forms of `mnemonic`, or None if there is no such mnemonic.

        The encoder may keep in `memory` records that it would make again for equal operands: it is not asked again.
        """
        raise NotImplementedError

    @classmethod
    def mnemonics(cls) -> Iterable[str]:
        """Every mnemonic of the ISA's rows, for the error that names near matches."""
        raise NotImplementedError

    @classmethod
    def forms(cls, mnemonic: str) -> list[str]:
        """Return the forms of a mnemonic, each as a line in the notation of the rows, for errors."""
        raise NotImplementedError

    def text(self, form: Any, operands: tuple[Any, ...]) -> str:
        """Return the instruction in the ISA's usual notation."""
        raise NotImplementedError

    def padding(self, count: int) -> bytes:
        """Return `count` bytes of instructions that do nothing."""
        raise NotImplementedError

    def hexadecimal(self, code: bytes) -> str:
        """Return an instruction's code as the listing shows it."""
        return code.hex()

    # Emitting

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @classmethod
    def method_of(cls, name: str) -> Callable[..., None] | None:
        """Make the method of a mnemonic, as Python writes it, and keep it; None: there is no such mnemonic."""
        mnemonic, memory = name.rstrip("_"), Memory()
        encode = cls.form_encoder(mnemonic, memory)
        if encode is None:
            return None
        method = cls.extended(mnemonic, _method(mnemonic, encode, memory))
        setattr(cls.instructions, name, method)
        return method

    @classmethod
    def extended(cls, mnemonic: str, emit: Callable[..., None]) -> Callable[..., None]:
        """Return the method of a mnemonic that also takes what the ISA lets it be written with beside operands."""
        return emit

    def label(self, name: str | None = None) -> Label:
        """Make a label and bind it here."""
        return self.bind(self.forward(name))

    def repeated(self, start: int, count: int) -> None:
        """Note that the records from number `start` to here run so many times whenever they are reached."""
        self.repeats.append((start, len(self.records), count))

    def forward(self, name: str | None = None) -> Label:
        """Make a label to be bound later. A name that was used before gets a number.

        Raises:
            EncodingError: the name is no text.
        """
        if name is not None and not isinstance(name, str):
            raise EncodingError(f"the name of a label is a {type(name).__name__}\n  Give a text, or none.")
        stem = name or "L"
        count = self._names[stem] = self._names.get(stem, 0) + 1
        return Label(stem if name and count == 1 else f"{stem}_{count}", self)

    def bind(self, label: Label) -> Label:
        """Place a label here and return it. Raises EncodingError if it has a place already."""
        if not isinstance(label, Label):
            raise EncodingError(f"bind({label!r:.80})\n  Give a label, made with forward().")
        if label.owner is not self:
            raise EncodingError(
                f"label {label.name} belongs to another assembler\n  Make it with this one's forward()."
            )
        if label.position is not None or label in self._constants:
            raise EncodingError(f"label {label.name} is bound twice\n  Make a second label.")
        label.position = len(self.buffer)
        self._bound.append(label)
        self.records.append((Directive.LABEL, label, b""))
        return label

    def comment(self, text: object) -> None:
        """Write a line into the listing; what is no text is written as `str` does, when the listing is."""
        self.records.append((Directive.COMMENT, text, b""))

    def align(self, boundary: int) -> None:
        """Pad with instructions that do nothing up to a multiple of `boundary` bytes (a power of two).

        Raises:
            EncodingError: it is no power of two.
        """
        if not _is_power_of_two(boundary):
            raise EncodingError(f"align({boundary!r:.80}): the boundary is a power of two")
        code = self.padding(-len(self.buffer) % boundary)
        if code:
            self.buffer += code
            self.records.append((Directive.PADDING, boundary, code))

    def data(self, payload: bytes, align: int | None = None, name: str | None = None) -> Label:
        """Append constants behind the code and return their label; equal unnamed constants share one.

        `align` in bytes defaults to the payload's length rounded up to a power of two, at most 64.

        Raises:
            EncodingError: the payload is no bytes, or `align` no power of two.
        """
        try:
            payload = memoryview(payload).tobytes()
        except TypeError:
            raise EncodingError(f"data({payload!r:.80})\n  Give bytes, or an object that holds bytes.") from None
        align = align or min(64, 1 << max(len(payload) - 1, 0).bit_length())
        if not _is_power_of_two(align):
            raise EncodingError(f"data(align={align!r:.80}): the alignment is a power of two")
        key = (payload, align)
        if name is None and key in self._interned:
            return self._interned[key]
        label = self.forward(name or "constant")
        self._constants[label] = key
        if name is None:
            self._interned[key] = label
        return label

    def mark(self) -> Mark:
        """Return where the code ends now."""
        return Mark(len(self.records), len(self.buffer), len(self.fixups) + len(self._bound))

    def again(self, begin: Mark, end: Mark) -> None:
        """Emit straight code once more that stands between two marks; as many `labels` say that it has none."""
        self.records += self.records[begin.record : end.record]
        self.buffer += self.buffer[begin.byte : end.byte]

    def require(self, feature: str) -> None:
        """Say that the code needs a feature that no instruction's row names."""
        self._required.add(feature)

    # Reading

    @property
    def labels(self) -> tuple[tuple[str, int], ...]:
        """The labels that are bound, with their offsets in bytes.

        >>> asm = Assembler("x86_64")
        >>> asm.ret(); _ = asm.label("loop"); asm.ret()
        >>> asm.labels
        (('loop', 1),)
        """
        return tuple((label.name, label.position) for label in self._bound if label.position is not None)

    @property
    def size(self) -> int:
        """Bytes of code so far, without data."""
        return len(self.buffer)

    def bytes(self) -> bytes:
        """Return code and data with every label resolved. Raises EncodingError for a label that was never bound."""
        code = bytearray(self.buffer)
        places: dict[Label, int] = {}
        for label, (payload, boundary) in self._constants.items():
            code += bytes(-len(code) % boundary)
            places[label] = len(code)
            code += payload
        for position, label, patch in self.fixups:
            patch(code, position, self._place(label, places), label)
        return bytes(code)

    def _place(self, label: Label, places: dict[Label, int]) -> int:
        if label.owner is not self:
            raise EncodingError(
                f"label {label.name} belongs to another assembler\n  Make it with this one's forward()."
            )
        place = places.get(label, label.position)
        if place is None:
            raise EncodingError(f"label {label.name} is used but never bound\n  Place it with bind().")
        return place

    def listing(self) -> str:
        """Return offset, code and text of every instruction; labels and comments on lines of their own."""
        return "\n".join(self._lines(self.bytes()))

    def _lines(self, code: bytes) -> Iterator[str]:
        offset = 0
        for form, operands, encoded in self.records:
            if form is Directive.LABEL:
                yield f"{operands.name}:"
            elif form is Directive.COMMENT:
                yield f"{'':10}{self.comment_prefix} {operands}"
            else:
                end = offset + len(encoded)
                text = f"align {operands}" if form is Directive.PADDING else self.text(form, operands)
                yield f"{offset:6x}    {self.hexadecimal(code[offset:end]):<{self.code_width}}  {text}"
                offset = end
        for label, (payload, boundary) in self._constants.items():
            offset += -offset % boundary
            yield f"{label.name}:"
            for start in range(0, len(payload), 16):
                yield f"{offset + start:6x}    {payload[start : start + 16].hex(' ', 4)}"
            offset += len(payload)

    @property
    def features(self) -> frozenset[str]:
        """ISA features that the emitted instructions need, as the rows name them: `"avx2"`, `"fma"`, `"neon"`, …"""
        forms = set(map(itemgetter(0), self.records)).difference(Directive)
        return frozenset(self._required.union(*(form.features for form in forms)))

    def counts(self) -> dict[str, int]:
        """Return how many instructions of each mnemonic there are."""
        return dict(Counter(form.mnemonic for form, _, _ in self._instructions()))

    def __repr__(self) -> str:
        count = sum(1 for _ in self._instructions())
        return f"{type(self).__name__}({self.isa}, {count} instruction{'s' * (count != 1)}, {self.size} bytes)"

    def _instructions(self) -> Iterator[Record]:
        return (record for record in self.records if not isinstance(record[0], Directive))


class Suggesting(Assembler):
    """An assembler that says what is near a mnemonic which does not exist."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            if self.method_of(name) is None:
                raise UnknownMnemonic(_unknown(name.rstrip("_"), type(self)))
            return getattr(self, name)


class _Mnemonic:
    """A method that is made when it is first asked for, and then takes this one's place."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, asm: Assembler | None, kind: type[Assembler]) -> Callable[..., None]:
        method = kind.method_of(self.name)
        assert method is not None, f"{self.name} is a mnemonic"
        return method if asm is None else MethodType(method, asm)


def _class_for(isa: object) -> Any:
    """Return the class of `Assembler(isa)`."""
    if not isinstance(isa, str) or isa not in ISAS:
        raise EncodingError(f"no assembler for ISA {isa!r}\n  There are: {', '.join(ISAS)}.")
    module, name = ISAS[isa]
    return getattr(importlib.import_module(module), name)


@cache
def _with_mnemonics(kind: type[Assembler]) -> type[Assembler]:
    """Return the class, which has all mnemonics as attributes from now on."""
    taken = {name for each in kind.__mro__ for name in vars(each)}
    for mnemonic in kind.mnemonics():
        name = f"{mnemonic}_" if iskeyword(mnemonic) else mnemonic
        if name not in taken:
            setattr(kind, name, _Mnemonic(name))
    return kind


def _is_power_of_two(number: object) -> bool:
    return isinstance(number, int) and number > 0 and not number & (number - 1)


def _method(mnemonic: str, encode: Encoder, memory: Memory) -> Callable[..., None]:
    """Return the method that emits: the one place that runs for each instruction, so it is kept flat."""
    recall = memory.get

    def emit(self: Assembler, *operands: Any) -> None:
        try:
            record = recall(operands)
        except TypeError:  # an operand that cannot be hashed, such as a list of registers
            record = None
        if record is None:
            record = encode(self, operands)
        self.buffer += record[2]
        self.records.append(record)

    emit.__name__ = emit.__qualname__ = mnemonic
    return emit


def _unknown(mnemonic: str, isa: type[Assembler]) -> str:
    import difflib  # only here: it costs more to import than this whole module

    near = difflib.get_close_matches(mnemonic, list(isa.mnemonics()), n=5)
    if not near:
        return f"{isa.isa} has no instruction {mnemonic!r}\n  No mnemonic is near."
    forms = "".join(f"\n    {form}" for form in isa.forms(near[0]))
    return f"{isa.isa} has no instruction {mnemonic!r}\n  Near: {', '.join(near)}.\n  Forms of {near[0]}:{forms}"
