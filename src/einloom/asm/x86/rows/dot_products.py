"""Sums of products of neighbours: pairs of bfloat16, quads of bytes. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# bfloat16: pairs multiplied and added to float32, conversions. Subnormals count as zero.
vdpbf16ps      xyz{kz} xyz xyz/m/b4 | EVEX.F3.0F38.W0 52 /r RVM | avx512bf16/avx512bf16/avx512bf16 avx512f
vcvtneps2bf16  xxy{kz} xyz/m/b4     | EVEX.F3.0F38.W0 72 /r RM  | avx512bf16/avx512bf16/avx512bf16 avx512f
vcvtne2ps2bf16 xyz{kz} xyz xyz/m/b4 | EVEX.F2.0F38.W0 72 /r RVM | avx512bf16/avx512bf16/avx512bf16 avx512f
# Quads of bytes (bu, su: which is unsigned) and pairs of words to 32 bits; with s at the end they saturate.
vpdpbusd       xy xy xy/m           | VEX.66.0F38.W0 50 /r RVM  | avxvnni
vpdpbusd       xyz{kz} xyz xyz/m/b4 | EVEX.66.0F38.W0 50 /r RVM | avx512vnni
vpdpbusds      xy xy xy/m           | VEX.66.0F38.W0 51 /r RVM  | avxvnni
vpdpbusds      xyz{kz} xyz xyz/m/b4 | EVEX.66.0F38.W0 51 /r RVM | avx512vnni
vpdpwssd       xy xy xy/m           | VEX.66.0F38.W0 52 /r RVM  | avxvnni
vpdpwssd       xyz{kz} xyz xyz/m/b4 | EVEX.66.0F38.W0 52 /r RVM | avx512vnni
vpdpwssds      xy xy xy/m           | VEX.66.0F38.W0 53 /r RVM  | avxvnni
vpdpwssds      xyz{kz} xyz xyz/m/b4 | EVEX.66.0F38.W0 53 /r RVM | avx512vnni
vpdpbssd       xy xy xy/m           | VEX.F2.0F38.W0 50 /r RVM  | avxvnniint8
vpdpbsud       xy xy xy/m           | VEX.F3.0F38.W0 50 /r RVM  | avxvnniint8
vpdpbuud       xy xy xy/m           | VEX.0F38.W0 50 /r RVM     | avxvnniint8
"""
