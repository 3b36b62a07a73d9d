"""Neon's sums of products in wider elements. Notation: see `einloom.asm.aarch64.row`.

Of groups, quads of bytes and pairs of bfloat16: an element of 4 bytes takes the products of one; `Vm.4b[HL]` and
`Vm.2h[HL]` are one group for all elements. Of matrices: two rows by two columns of 8 bytes each make a block of 2 x 2
sums. Of float16 in float32: `fmlal` takes the lower four elements, `fmlal2` the upper ones.
"""

ROWS = """
sdot   Vd.2s Vn.8b Vm.8b      | 0 0 0 01110 10 0 m:5 1 0010 1 n:5 d:5                | +dotprod
sdot   Vd.4s Vn.16b Vm.16b    | 0 1 0 01110 10 0 m:5 1 0010 1 n:5 d:5                | +dotprod
udot   Vd.2s Vn.8b Vm.8b      | 0 0 1 01110 10 0 m:5 1 0010 1 n:5 d:5                | +dotprod
udot   Vd.4s Vn.16b Vm.16b    | 0 1 1 01110 10 0 m:5 1 0010 1 n:5 d:5                | +dotprod
usdot  Vd.4s Vn.16b Vm.16b    | 0 1 0 01110 10 0 m:5 1 0011 1 n:5 d:5                | +i8mm
bfdot  Vd.4s Vn.8h Vm.8h      | 0 1 1 01110 01 0 m:5 1 1111 1 n:5 d:5                | +bf16
sdot   Vd.4s Vn.16b Vm.4b[HL] | 0 1 0 01111 10 L m:5 1110 H 0 n:5 d:5                | +dotprod
udot   Vd.4s Vn.16b Vm.4b[HL] | 0 1 1 01111 10 L m:5 1110 H 0 n:5 d:5                | +dotprod
usdot  Vd.4s Vn.16b Vm.4b[HL] | 0 1 0 01111 10 L m:5 1111 H 0 n:5 d:5                | +i8mm
sudot  Vd.4s Vn.16b Vm.4b[HL] | 0 1 0 01111 00 L m:5 1111 H 0 n:5 d:5                | +i8mm
bfdot  Vd.4s Vn.8h Vm.2h[HL]  | 0 1 0 01111 01 L m:5 1111 H 0 n:5 d:5                | +bf16

smmla  Vd.4s Vn.16b Vm.16b    | 0 1 0 01110 10 0 m:5 1 0100 1 n:5 d:5                | +i8mm
ummla  Vd.4s Vn.16b Vm.16b    | 0 1 1 01110 10 0 m:5 1 0100 1 n:5 d:5                | +i8mm
usmmla Vd.4s Vn.16b Vm.16b    | 0 1 0 01110 10 0 m:5 1 0101 1 n:5 d:5                | +i8mm
bfmmla Vd.4s Vn.8h Vm.8h      | 0 1 1 01110 01 0 m:5 1 1101 1 n:5 d:5                | +bf16

fmlal  Vd.4s Vn.4h Vm.4h      | 0 1 0 01110 00 1 m:5 1 1101 1 n:5 d:5                | +fp16fml
fmlal2 Vd.4s Vn.4h Vm.4h      | 0 1 1 01110 00 1 m:5 1 1001 1 n:5 d:5                | +fp16fml
fmlal  Vd.4s Vn.4h Vm.h[HLM]  | 0 1 0 01111 10 L M m:4 0000 H 0 n:5 d:5              | +fp16fml
fmlal2 Vd.4s Vn.4h Vm.h[HLM]  | 0 1 1 01111 10 L M m:4 1000 H 0 n:5 d:5              | +fp16fml
"""
