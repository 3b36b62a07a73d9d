"""Neon's sums of products of groups: quads of bytes, pairs of bfloat16. Notation: see `einloom.asm.aarch64.row`.

An element of 4 bytes takes the products of one group; `Vm.4b[HL]` and `Vm.2h[HL]` are one group for all elements.
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
"""
