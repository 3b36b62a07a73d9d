"""Gathers and scatters. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Gathers
vgatherdps   xy vxy xy      | VEX.66.0F38.W0 92 /r RMV | avx2
vgatherdps   xyz{k!} vxyz@4 | EVEX.66.0F38.W0 92 /r RM | avx512f
vgatherqps   xx vxy xx      | VEX.66.0F38.W0 93 /r RMV | avx2
vgatherqps   xxy{k!} vxyz@4 | EVEX.66.0F38.W0 93 /r RM | avx512f
vgatherdpd   xy vxx xy      | VEX.66.0F38.W1 92 /r RMV | avx2
vgatherdpd   xyz{k!} vxxy@8 | EVEX.66.0F38.W1 92 /r RM | avx512f
vgatherqpd   xy vxy xy      | VEX.66.0F38.W1 93 /r RMV | avx2
vgatherqpd   xyz{k!} vxyz@8 | EVEX.66.0F38.W1 93 /r RM | avx512f
vpgatherdd   xy vxy xy      | VEX.66.0F38.W0 90 /r RMV | avx2
vpgatherdd   xyz{k!} vxyz@4 | EVEX.66.0F38.W0 90 /r RM | avx512f
vpgatherqd   xx vxy xx      | VEX.66.0F38.W0 91 /r RMV | avx2
vpgatherqd   xxy{k!} vxyz@4 | EVEX.66.0F38.W0 91 /r RM | avx512f
vpgatherdq   xy vxx xy      | VEX.66.0F38.W1 90 /r RMV | avx2
vpgatherdq   xyz{k!} vxxy@8 | EVEX.66.0F38.W1 90 /r RM | avx512f
vpgatherqq   xy vxy xy      | VEX.66.0F38.W1 91 /r RMV | avx2
vpgatherqq   xyz{k!} vxyz@8 | EVEX.66.0F38.W1 91 /r RM | avx512f
# Scatters
vscatterdps  vxyz@4{k!} xyz | EVEX.66.0F38.W0 A2 /r MR | avx512f
vscatterqps  vxyz@4{k!} xxy | EVEX.66.0F38.W0 A3 /r MR | avx512f
vscatterdpd  vxxy@8{k!} xyz | EVEX.66.0F38.W1 A2 /r MR | avx512f
vscatterqpd  vxyz@8{k!} xyz | EVEX.66.0F38.W1 A3 /r MR | avx512f
vpscatterdd  vxyz@4{k!} xyz | EVEX.66.0F38.W0 A0 /r MR | avx512f
vpscatterqd  vxyz@4{k!} xxy | EVEX.66.0F38.W0 A1 /r MR | avx512f
vpscatterdq  vxxy@8{k!} xyz | EVEX.66.0F38.W1 A0 /r MR | avx512f
vpscatterqq  vxyz@8{k!} xyz | EVEX.66.0F38.W1 A1 /r MR | avx512f
"""
