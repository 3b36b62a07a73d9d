"""`RowScratch`: the rows of A that one band of tiles needs, transposed to where vectors along m are contiguous.

For an A whose k is contiguous: [m][k] becomes [batch][k][rows of the band]. The scratch is a part of the frame.
"""

from __future__ import annotations

from einloom.kernels.contraction.product import Product, StridedMatrix
from einloom.kernels.elementwise.columns import Matrix
from einloom.kernels.elementwise.transposition import Blocks
from einloom.kernels.verbs.frame import Frame
from einloom.kernels.verbs.scalar import A, R
from einloom.kernels.verbs.vector import CopyVerbs, V

__all__ = ["RowScratch"]

MOST_BYTES = 128 * 1024
"""Of scratch: what the second-level cache holds with ease, and a thread's stack as well."""

ALIGNMENT = 64


class RowScratch:
    """Scratch for `vectors` x `lanes` rows of A.

    Attributes:
        source: A as it is.
        operand: A as tiles read it.
        variables: names that the frame has to hold.
        frame_bytes: what the frame has to provide.
    """

    variables = ("packed", "pack_from", "pack_to", "pack_m", "pack_n", "pack_batch")

    def __init__(self, product: Product, lanes: int, vectors: int) -> None:
        self.product = product
        self.source = product.a
        self.rows = vectors * lanes
        strides = (1, 0, self.rows, product.k * self.rows)
        self.operand = StridedMatrix("packed", strides, product.dtype, product.a.group_of)
        self.frame_bytes = product.steps * self.rows * product.dtype.size + ALIGNMENT

    @staticmethod
    def most_vectors(product: Product, lanes: int) -> int:
        """Return how many vectors of rows the scratch may hold; 0 where A is to be read as it is."""
        return MOST_BYTES // (product.steps * lanes * product.dtype.size) if product.wants_packing else 0

    def set_up(self, frame: Frame[R, A], slot: int) -> None:
        """Set the variable that points to the scratch."""
        with frame.assigned("packed") as register:
            frame.km.slot_address(register, slot + ALIGNMENT - 1)
            frame.km.align_down(register, ALIGNMENT)

    def emit(
        self,
        vec: CopyVerbs[R, V, A],
        reads: CopyVerbs[R, V, A],
        frame: Frame[R, A],
        rows: int,
        strides: tuple[int | str, ...],
    ) -> None:
        """Fill the scratch with `rows` rows from where the source's pointer is; `strides` of the source in bytes.

        `reads` has the verbs that read the source.
        """
        size, product, km = self.product.dtype.size, self.product, frame.km
        for variable, source in (("pack_from", self.source.name), ("pack_to", "packed")):
            with frame.assigned(variable) as register:
                frame.load(register, source)
        matrix = Matrix("pack_from", (strides[2], strides[0]), self.source.dtype.size)
        scratch = Matrix("pack_to", (self.rows * size, size), size)
        km.asm.comment(f"transpose {rows} rows of {self.source.name} into scratch")
        counters = ("pack_m", "pack_n")
        size_of_block, verbs = (product.k, rows), (vec, reads, vec)
        blocks = Blocks(km, verbs, frame, size_of_block, matrix, scratch, _as_they_are, counters, padded=True)
        with frame.loop(product.batch, "pack_batch"):
            blocks.emit()
            if product.batch > 1:
                frame.advance("pack_from", strides[0], -rows)
                frame.advance("pack_from", strides[3], 1)
                frame.advance("pack_to", size, product.k * self.rows - rows)


def _as_they_are(inputs: list[V], free: list[V]) -> V:
    return inputs[0]
