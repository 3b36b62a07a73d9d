"""Vector floating point, two to four lanes of float32 or two of float64. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# Fused multiply-add and multiply: vectors, then by one element of the last operand.
fmla    Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11001 1 n:5 d:5               | T=sd
fmls    Vd.T Vn.T Vm.T        | 0 Q 0 01110 1 sz 1 m:5 11001 1 n:5 d:5               | T=sd
fmul    Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11011 1 n:5 d:5               | T=sd
fmulx   Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11011 1 n:5 d:5               | T=sd
fmla    Vd.T Vn.T Vm.s[HL]    | 0 Q 0 01111 10 L m:5 0001 H 0 n:5 d:5                | T=s
fmla    Vd.2d Vn.2d Vm.d[H]   | 0 1 0 01111 11 0 m:5 0001 H 0 n:5 d:5
fmls    Vd.T Vn.T Vm.s[HL]    | 0 Q 0 01111 10 L m:5 0101 H 0 n:5 d:5                | T=s
fmls    Vd.2d Vn.2d Vm.d[H]   | 0 1 0 01111 11 0 m:5 0101 H 0 n:5 d:5
fmul    Vd.T Vn.T Vm.s[HL]    | 0 Q 0 01111 10 L m:5 1001 H 0 n:5 d:5                | T=s
fmul    Vd.2d Vn.2d Vm.d[H]   | 0 1 0 01111 11 0 m:5 1001 H 0 n:5 d:5
fmulx   Vd.T Vn.T Vm.s[HL]    | 0 Q 1 01111 10 L m:5 1001 H 0 n:5 d:5                | T=s
fmulx   Vd.2d Vn.2d Vm.d[H]   | 0 1 1 01111 11 0 m:5 1001 H 0 n:5 d:5

# Arithmetic.
fadd    Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11010 1 n:5 d:5               | T=sd
fsub    Vd.T Vn.T Vm.T        | 0 Q 0 01110 1 sz 1 m:5 11010 1 n:5 d:5               | T=sd
fabd    Vd.T Vn.T Vm.T        | 0 Q 1 01110 1 sz 1 m:5 11010 1 n:5 d:5               | T=sd
fdiv    Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11111 1 n:5 d:5               | T=sd
fmax    Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11110 1 n:5 d:5               | T=sd
fmin    Vd.T Vn.T Vm.T        | 0 Q 0 01110 1 sz 1 m:5 11110 1 n:5 d:5               | T=sd
fmaxnm  Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11000 1 n:5 d:5               | T=sd
fminnm  Vd.T Vn.T Vm.T        | 0 Q 0 01110 1 sz 1 m:5 11000 1 n:5 d:5               | T=sd
faddp   Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11010 1 n:5 d:5               | T=sd
fmaxp   Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11110 1 n:5 d:5               | T=sd
fminp   Vd.T Vn.T Vm.T        | 0 Q 1 01110 1 sz 1 m:5 11110 1 n:5 d:5               | T=sd
fmaxnmp Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11000 1 n:5 d:5               | T=sd
fminnmp Vd.T Vn.T Vm.T        | 0 Q 1 01110 1 sz 1 m:5 11000 1 n:5 d:5               | T=sd
frecps  Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11111 1 n:5 d:5               | T=sd
frsqrts Vd.T Vn.T Vm.T        | 0 Q 0 01110 1 sz 1 m:5 11111 1 n:5 d:5               | T=sd
fabs    Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 01111 10 n:5 d:5              | T=sd
fneg    Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 01111 10 n:5 d:5              | T=sd
fsqrt   Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 11111 10 n:5 d:5              | T=sd
frecpe  Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 11101 10 n:5 d:5              | T=sd
frsqrte Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 11101 10 n:5 d:5              | T=sd
urecpe  Vd.T Vn.T             | 0 Q 0 01110 10 10000 11100 10 n:5 d:5                | T=s
ursqrte Vd.T Vn.T             | 0 Q 1 01110 10 10000 11100 10 n:5 d:5                | T=s

# Across one vector.
fmaxv   Sd Vn.4s              | 0 1 1 01110 00 11000 01111 10 n:5 d:5
fminv   Sd Vn.4s              | 0 1 1 01110 10 11000 01111 10 n:5 d:5
fmaxnmv Sd Vn.4s              | 0 1 1 01110 00 11000 01100 10 n:5 d:5
fminnmv Sd Vn.4s              | 0 1 1 01110 10 11000 01100 10 n:5 d:5

# Rounding to an integral value: n to nearest even, a to nearest away, p up, m down, z to zero, x and i by FPCR.
frintn  Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11000 10 n:5 d:5              | T=sd
frintm  Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11001 10 n:5 d:5              | T=sd
frintp  Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 11000 10 n:5 d:5              | T=sd
frintz  Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 11001 10 n:5 d:5              | T=sd
frinta  Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11000 10 n:5 d:5              | T=sd
frintx  Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11001 10 n:5 d:5              | T=sd
frinti  Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 11001 10 n:5 d:5              | T=sd

# To and from integers; fixed point with a number of fraction bits.
fcvtns  Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11010 10 n:5 d:5              | T=sd
fcvtnu  Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11010 10 n:5 d:5              | T=sd
fcvtps  Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 11010 10 n:5 d:5              | T=sd
fcvtpu  Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 11010 10 n:5 d:5              | T=sd
fcvtms  Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11011 10 n:5 d:5              | T=sd
fcvtmu  Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11011 10 n:5 d:5              | T=sd
fcvtzs  Vd.T Vn.T             | 0 Q 0 01110 1 sz 10000 11011 10 n:5 d:5              | T=sd
fcvtzu  Vd.T Vn.T             | 0 Q 1 01110 1 sz 10000 11011 10 n:5 d:5              | T=sd
fcvtas  Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11100 10 n:5 d:5              | T=sd
fcvtau  Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11100 10 n:5 d:5              | T=sd
scvtf   Vd.T Vn.T             | 0 Q 0 01110 0 sz 10000 11101 10 n:5 d:5              | T=sd
ucvtf   Vd.T Vn.T             | 0 Q 1 01110 0 sz 10000 11101 10 n:5 d:5              | T=sd
scvtf   Vd.T Vn.T #right      | 0 Q 0 011110 immhb:7 11100 1 n:5 d:5                 | T=sd
ucvtf   Vd.T Vn.T #right      | 0 Q 1 011110 immhb:7 11100 1 n:5 d:5                 | T=sd
fcvtzs  Vd.T Vn.T #right      | 0 Q 0 011110 immhb:7 11111 1 n:5 d:5                 | T=sd
fcvtzu  Vd.T Vn.T #right      | 0 Q 1 011110 immhb:7 11111 1 n:5 d:5                 | T=sd

# Between precisions: l widens the low half, l2 the high half; n narrows into the low half, n2 into the high half.
fcvtl   Vd.Ta Vn.T            | 0 0 0 01110 0 sn 10000 10111 10 n:5 d:5              | T=4h,2s
fcvtl2  Vd.Ta Vn.T            | 0 1 0 01110 0 sn 10000 10111 10 n:5 d:5              | T=8h,4s
fcvtn   Vd.T Vn.Ta            | 0 0 0 01110 0 sn 10000 10110 10 n:5 d:5              | T=4h,2s
fcvtn2  Vd.T Vn.Ta            | 0 1 0 01110 0 sn 10000 10110 10 n:5 d:5              | T=8h,4s
fcvtxn  Vd.2s Vn.2d           | 0 0 1 01110 01 10000 10110 10 n:5 d:5
fcvtxn2 Vd.4s Vn.2d           | 0 1 1 01110 01 10000 10110 10 n:5 d:5

# Comparison: all bits of a lane set where it holds.
fcmeq   Vd.T Vn.T Vm.T        | 0 Q 0 01110 0 sz 1 m:5 11100 1 n:5 d:5               | T=sd
fcmge   Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11100 1 n:5 d:5               | T=sd
fcmgt   Vd.T Vn.T Vm.T        | 0 Q 1 01110 1 sz 1 m:5 11100 1 n:5 d:5               | T=sd
fcmle   Vd.T Vm.T Vn.T        | 0 Q 1 01110 0 sz 1 m:5 11100 1 n:5 d:5               | T=sd
fcmlt   Vd.T Vm.T Vn.T        | 0 Q 1 01110 1 sz 1 m:5 11100 1 n:5 d:5               | T=sd
facge   Vd.T Vn.T Vm.T        | 0 Q 1 01110 0 sz 1 m:5 11101 1 n:5 d:5               | T=sd
facgt   Vd.T Vn.T Vm.T        | 0 Q 1 01110 1 sz 1 m:5 11101 1 n:5 d:5               | T=sd
fcmgt   Vd.T Vn.T #0.0        | 0 Q 0 01110 1 sz 10000 01100 10 n:5 d:5              | T=sd
fcmge   Vd.T Vn.T #0.0        | 0 Q 1 01110 1 sz 10000 01100 10 n:5 d:5              | T=sd
fcmeq   Vd.T Vn.T #0.0        | 0 Q 0 01110 1 sz 10000 01101 10 n:5 d:5              | T=sd
fcmle   Vd.T Vn.T #0.0        | 0 Q 1 01110 1 sz 10000 01101 10 n:5 d:5              | T=sd
fcmlt   Vd.T Vn.T #0.0        | 0 Q 0 01110 1 sz 10000 01110 10 n:5 d:5              | T=sd

# Constants: asm.fmov(v[0].s4, 1.0).
fmov    Vd.T #float           | 0 Q sz 0111100000 abc:3 1111 01 defgh:5 d:5          | T=sd
"""
