"""Scalar floating point: arithmetic, comparison, conversion, moves. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# Arithmetic. F: s d.
fmul    Fd Fn Fm              | 000 11110 type:2 1 m:5 0000 10 n:5 d:5
fdiv    Fd Fn Fm              | 000 11110 type:2 1 m:5 0001 10 n:5 d:5
fadd    Fd Fn Fm              | 000 11110 type:2 1 m:5 0010 10 n:5 d:5
fsub    Fd Fn Fm              | 000 11110 type:2 1 m:5 0011 10 n:5 d:5
fmax    Fd Fn Fm              | 000 11110 type:2 1 m:5 0100 10 n:5 d:5
fmin    Fd Fn Fm              | 000 11110 type:2 1 m:5 0101 10 n:5 d:5
fmaxnm  Fd Fn Fm              | 000 11110 type:2 1 m:5 0110 10 n:5 d:5
fminnm  Fd Fn Fm              | 000 11110 type:2 1 m:5 0111 10 n:5 d:5
fnmul   Fd Fn Fm              | 000 11110 type:2 1 m:5 1000 10 n:5 d:5
fmadd   Fd Fn Fm Fa           | 000 11111 type:2 0 m:5 0 a:5 n:5 d:5
fmsub   Fd Fn Fm Fa           | 000 11111 type:2 0 m:5 1 a:5 n:5 d:5
fnmadd  Fd Fn Fm Fa           | 000 11111 type:2 1 m:5 0 a:5 n:5 d:5
fnmsub  Fd Fn Fm Fa           | 000 11111 type:2 1 m:5 1 a:5 n:5 d:5
fabs    Fd Fn                 | 000 11110 type:2 1 000001 10000 n:5 d:5
fneg    Fd Fn                 | 000 11110 type:2 1 000010 10000 n:5 d:5
fsqrt   Fd Fn                 | 000 11110 type:2 1 000011 10000 n:5 d:5
frintn  Fd Fn                 | 000 11110 type:2 1 001000 10000 n:5 d:5
frintp  Fd Fn                 | 000 11110 type:2 1 001001 10000 n:5 d:5
frintm  Fd Fn                 | 000 11110 type:2 1 001010 10000 n:5 d:5
frintz  Fd Fn                 | 000 11110 type:2 1 001011 10000 n:5 d:5
frinta  Fd Fn                 | 000 11110 type:2 1 001100 10000 n:5 d:5
frintx  Fd Fn                 | 000 11110 type:2 1 001110 10000 n:5 d:5
frinti  Fd Fn                 | 000 11110 type:2 1 001111 10000 n:5 d:5

# Estimates and steps, absolute difference, multiply by element.
fabd    Fd Fn Fm              | 01 1 11110 1 sz 1 m:5 11010 1 n:5 d:5
fmulx   Fd Fn Fm              | 01 0 11110 0 sz 1 m:5 11011 1 n:5 d:5
frecps  Fd Fn Fm              | 01 0 11110 0 sz 1 m:5 11111 1 n:5 d:5
frsqrts Fd Fn Fm              | 01 0 11110 1 sz 1 m:5 11111 1 n:5 d:5
frecpe  Fd Fn                 | 01 0 11110 1 sz 10000 11101 10 n:5 d:5
frecpx  Fd Fn                 | 01 0 11110 1 sz 10000 11111 10 n:5 d:5
frsqrte Fd Fn                 | 01 1 11110 1 sz 10000 11101 10 n:5 d:5
fmla    Sd Sn Vm.s[HL]        | 01 0 11111 10 L m:5 0001 H 0 n:5 d:5
fmla    Dd Dn Vm.d[H]         | 01 0 11111 11 0 m:5 0001 H 0 n:5 d:5
fmls    Sd Sn Vm.s[HL]        | 01 0 11111 10 L m:5 0101 H 0 n:5 d:5
fmls    Dd Dn Vm.d[H]         | 01 0 11111 11 0 m:5 0101 H 0 n:5 d:5
fmul    Sd Sn Vm.s[HL]        | 01 0 11111 10 L m:5 1001 H 0 n:5 d:5
fmul    Dd Dn Vm.d[H]         | 01 0 11111 11 0 m:5 1001 H 0 n:5 d:5

# Comparison: into the flags, into a mask.
fcmp    Fn Fm                 | 000 11110 type:2 1 m:5 00 1000 n:5 00000
fcmp    Fn #0.0               | 000 11110 type:2 1 00000 00 1000 n:5 01000
fcmpe   Fn Fm                 | 000 11110 type:2 1 m:5 00 1000 n:5 10000
fcmpe   Fn #0.0               | 000 11110 type:2 1 00000 00 1000 n:5 11000
fccmp   Fn Fm #nzcv cond      | 000 11110 type:2 1 m:5 cond:4 01 n:5 0 nzcv:4
fccmpe  Fn Fm #nzcv cond      | 000 11110 type:2 1 m:5 cond:4 01 n:5 1 nzcv:4
fcsel   Fd Fn Fm cond         | 000 11110 type:2 1 m:5 cond:4 11 n:5 d:5
fcmeq   Fd Fn Fm              | 01 0 11110 0 sz 1 m:5 11100 1 n:5 d:5
fcmge   Fd Fn Fm              | 01 1 11110 0 sz 1 m:5 11100 1 n:5 d:5
fcmgt   Fd Fn Fm              | 01 1 11110 1 sz 1 m:5 11100 1 n:5 d:5
facge   Fd Fn Fm              | 01 1 11110 0 sz 1 m:5 11101 1 n:5 d:5
facgt   Fd Fn Fm              | 01 1 11110 1 sz 1 m:5 11101 1 n:5 d:5
fcmgt   Fd Fn #0.0            | 01 0 11110 1 sz 10000 01100 10 n:5 d:5
fcmge   Fd Fn #0.0            | 01 1 11110 1 sz 10000 01100 10 n:5 d:5
fcmeq   Fd Fn #0.0            | 01 0 11110 1 sz 10000 01101 10 n:5 d:5
fcmle   Fd Fn #0.0            | 01 1 11110 1 sz 10000 01101 10 n:5 d:5
fcmlt   Fd Fn #0.0            | 01 0 11110 1 sz 10000 01110 10 n:5 d:5

# Pairwise: both elements of one register.
faddp   Ed Vn.T               | 01 1 11110 0 sz 11000 01101 10 n:5 d:5               | T=2s,2d
fmaxp   Ed Vn.T               | 01 1 11110 0 sz 11000 01111 10 n:5 d:5               | T=2s,2d
fminp   Ed Vn.T               | 01 1 11110 1 sz 11000 01111 10 n:5 d:5               | T=2s,2d
fmaxnmp Ed Vn.T               | 01 1 11110 0 sz 11000 01100 10 n:5 d:5               | T=2s,2d
fminnmp Ed Vn.T               | 01 1 11110 1 sz 11000 01100 10 n:5 d:5               | T=2s,2d

# Between precisions.
fcvt    Dd Sn                 | 000 11110 00 1 0001 01 10000 n:5 d:5
fcvt    Hd Sn                 | 000 11110 00 1 0001 11 10000 n:5 d:5
fcvt    Sd Dn                 | 000 11110 01 1 0001 00 10000 n:5 d:5
fcvt    Hd Dn                 | 000 11110 01 1 0001 11 10000 n:5 d:5
fcvt    Sd Hn                 | 000 11110 11 1 0001 00 10000 n:5 d:5
fcvt    Dd Hn                 | 000 11110 11 1 0001 01 10000 n:5 d:5
fcvtxn  Sd Dn                 | 01 1 11110 01 10000 10110 10 n:5 d:5

# To and from integers in general registers; fixed point with a number of fraction bits.
fcvtns  Rd Fn                 | sf 00 11110 type:2 1 00 000 000000 n:5 d:5
fcvtnu  Rd Fn                 | sf 00 11110 type:2 1 00 001 000000 n:5 d:5
fcvtas  Rd Fn                 | sf 00 11110 type:2 1 00 100 000000 n:5 d:5
fcvtau  Rd Fn                 | sf 00 11110 type:2 1 00 101 000000 n:5 d:5
fcvtps  Rd Fn                 | sf 00 11110 type:2 1 01 000 000000 n:5 d:5
fcvtpu  Rd Fn                 | sf 00 11110 type:2 1 01 001 000000 n:5 d:5
fcvtms  Rd Fn                 | sf 00 11110 type:2 1 10 000 000000 n:5 d:5
fcvtmu  Rd Fn                 | sf 00 11110 type:2 1 10 001 000000 n:5 d:5
fcvtzs  Rd Fn                 | sf 00 11110 type:2 1 11 000 000000 n:5 d:5
fcvtzu  Rd Fn                 | sf 00 11110 type:2 1 11 001 000000 n:5 d:5
scvtf   Fd Rn                 | sf 00 11110 type:2 1 00 010 000000 n:5 d:5
ucvtf   Fd Rn                 | sf 00 11110 type:2 1 00 011 000000 n:5 d:5
fcvtzs  Rd Fn #fraction       | sf 00 11110 type:2 0 11 000 scale:6 n:5 d:5
fcvtzu  Rd Fn #fraction       | sf 00 11110 type:2 0 11 001 scale:6 n:5 d:5
scvtf   Fd Rn #fraction       | sf 00 11110 type:2 0 00 010 scale:6 n:5 d:5
ucvtf   Fd Rn #fraction       | sf 00 11110 type:2 0 00 011 scale:6 n:5 d:5

# To and from integers in the same register file.
fcvtns  Fd Fn                 | 01 0 11110 0 sz 10000 11010 10 n:5 d:5
fcvtnu  Fd Fn                 | 01 1 11110 0 sz 10000 11010 10 n:5 d:5
fcvtps  Fd Fn                 | 01 0 11110 1 sz 10000 11010 10 n:5 d:5
fcvtpu  Fd Fn                 | 01 1 11110 1 sz 10000 11010 10 n:5 d:5
fcvtms  Fd Fn                 | 01 0 11110 0 sz 10000 11011 10 n:5 d:5
fcvtmu  Fd Fn                 | 01 1 11110 0 sz 10000 11011 10 n:5 d:5
fcvtzs  Fd Fn                 | 01 0 11110 1 sz 10000 11011 10 n:5 d:5
fcvtzu  Fd Fn                 | 01 1 11110 1 sz 10000 11011 10 n:5 d:5
fcvtas  Fd Fn                 | 01 0 11110 0 sz 10000 11100 10 n:5 d:5
fcvtau  Fd Fn                 | 01 1 11110 0 sz 10000 11100 10 n:5 d:5
scvtf   Fd Fn                 | 01 0 11110 0 sz 10000 11101 10 n:5 d:5
ucvtf   Fd Fn                 | 01 1 11110 0 sz 10000 11101 10 n:5 d:5

# Moves.
fmov    Fd Fn                 | 000 11110 type:2 1 000000 10000 n:5 d:5
fmov    Fd #float             | 000 11110 type:2 1 float:8 100 00000 d:5
fmov    Sd #0.0               | 0 00 11110 00 1 00 111 000000 11111 d:5
fmov    Dd #0.0               | 1 00 11110 01 1 00 111 000000 11111 d:5
fmov    Wd Sn                 | 0 00 11110 00 1 00 110 000000 n:5 d:5
fmov    Sd Wn                 | 0 00 11110 00 1 00 111 000000 n:5 d:5
fmov    Xd Dn                 | 1 00 11110 01 1 00 110 000000 n:5 d:5
fmov    Dd Xn                 | 1 00 11110 01 1 00 111 000000 n:5 d:5
fmov    Xd Vn.d[1]            | 1 00 11110 10 1 01 110 000000 n:5 d:5
fmov    Vd.d[1] Xn            | 1 00 11110 10 1 01 111 000000 n:5 d:5
"""
