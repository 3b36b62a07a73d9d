"""Vector integer arithmetic, shifts, comparison, widening and narrowing. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# Arithmetic; D alone is the scalar form.
add    Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10000 1 n:5 d:5             | T=bhsd
add    Dd Dn Dm               | 01 0 11110 11 1 m:5 10000 1 n:5 d:5
sub    Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 10000 1 n:5 d:5             | T=bhsd
sub    Dd Dn Dm               | 01 1 11110 11 1 m:5 10000 1 n:5 d:5
mul    Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10011 1 n:5 d:5             | T=bhs
mla    Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10010 1 n:5 d:5             | T=bhs
mls    Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 10010 1 n:5 d:5             | T=bhs
mul    Vd.T Vn.T Vm.h[HLM]    | 0 Q 0 01111 01 L M m:4 1000 H 0 n:5 d:5              | T=h
mul    Vd.T Vn.T Vm.s[HL]     | 0 Q 0 01111 10 L m:5 1000 H 0 n:5 d:5                | T=s
mla    Vd.T Vn.T Vm.h[HLM]    | 0 Q 1 01111 01 L M m:4 0000 H 0 n:5 d:5              | T=h
mla    Vd.T Vn.T Vm.s[HL]     | 0 Q 1 01111 10 L m:5 0000 H 0 n:5 d:5                | T=s
mls    Vd.T Vn.T Vm.h[HLM]    | 0 Q 1 01111 01 L M m:4 0100 H 0 n:5 d:5              | T=h
mls    Vd.T Vn.T Vm.s[HL]     | 0 Q 1 01111 10 L m:5 0100 H 0 n:5 d:5                | T=s
abs    Vd.T Vn.T              | 0 Q 0 01110 size:2 10000 01011 10 n:5 d:5            | T=bhsd
abs    Dd Dn                  | 01 0 11110 11 10000 01011 10 n:5 d:5
neg    Vd.T Vn.T              | 0 Q 1 01110 size:2 10000 01011 10 n:5 d:5            | T=bhsd
neg    Dd Dn                  | 01 1 11110 11 10000 01011 10 n:5 d:5
cls    Vd.T Vn.T              | 0 Q 0 01110 size:2 10000 00100 10 n:5 d:5            | T=bhs
clz    Vd.T Vn.T              | 0 Q 1 01110 size:2 10000 00100 10 n:5 d:5            | T=bhs
cnt    Vd.T Vn.T              | 0 Q 0 01110 size:2 10000 00101 10 n:5 d:5            | T=b
smax   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 01100 1 n:5 d:5             | T=bhs
umax   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 01100 1 n:5 d:5             | T=bhs
smin   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 01101 1 n:5 d:5             | T=bhs
umin   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 01101 1 n:5 d:5             | T=bhs
sabd   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 01110 1 n:5 d:5             | T=bhs
uabd   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 01110 1 n:5 d:5             | T=bhs
shadd  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 00000 1 n:5 d:5             | T=bhs
uhadd  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 00000 1 n:5 d:5             | T=bhs
sqadd  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 00001 1 n:5 d:5             | T=bhsd
uqadd  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 00001 1 n:5 d:5             | T=bhsd
sqsub  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 00101 1 n:5 d:5             | T=bhsd
uqsub  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 00101 1 n:5 d:5             | T=bhsd

# Pairwise and across one vector.
addp   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10111 1 n:5 d:5             | T=bhsd
addp   Dd Vn.2d               | 01 0 11110 11 11000 11011 10 n:5 d:5
smaxp  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10100 1 n:5 d:5             | T=bhs
umaxp  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 10100 1 n:5 d:5             | T=bhs
sminp  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10101 1 n:5 d:5             | T=bhs
uminp  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 10101 1 n:5 d:5             | T=bhs
addv   Ed Vn.T                | 0 Q 0 01110 size:2 11000 11011 10 n:5 d:5            | T=8b,16b,4h,8h,4s
smaxv  Ed Vn.T                | 0 Q 0 01110 size:2 11000 01010 10 n:5 d:5            | T=8b,16b,4h,8h,4s
umaxv  Ed Vn.T                | 0 Q 1 01110 size:2 11000 01010 10 n:5 d:5            | T=8b,16b,4h,8h,4s
sminv  Ed Vn.T                | 0 Q 0 01110 size:2 11000 11010 10 n:5 d:5            | T=8b,16b,4h,8h,4s
uminv  Ed Vn.T                | 0 Q 1 01110 size:2 11000 11010 10 n:5 d:5            | T=8b,16b,4h,8h,4s
saddlv Ld Vn.T                | 0 Q 0 01110 size:2 11000 00011 10 n:5 d:5            | T=8b,16b,4h,8h,4s
uaddlv Ld Vn.T                | 0 Q 1 01110 size:2 11000 00011 10 n:5 d:5            | T=8b,16b,4h,8h,4s
saddlp Vd.Tp Vn.T             | 0 Q 0 01110 size:2 10000 00010 10 n:5 d:5            | T=bhs
uaddlp Vd.Tp Vn.T             | 0 Q 1 01110 size:2 10000 00010 10 n:5 d:5            | T=bhs

# Comparison: all bits of a lane set where it holds. hi, hs: unsigned; ge, gt, le, lt: signed.
cmeq   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 10001 1 n:5 d:5             | T=bhsd
cmge   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 00111 1 n:5 d:5             | T=bhsd
cmgt   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 00110 1 n:5 d:5             | T=bhsd
cmhi   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 00110 1 n:5 d:5             | T=bhsd
cmhs   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 00111 1 n:5 d:5             | T=bhsd
cmtst  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 10001 1 n:5 d:5             | T=bhsd
cmle   Vd.T Vm.T Vn.T         | 0 Q 0 01110 size:2 1 m:5 00111 1 n:5 d:5             | T=bhsd
cmlt   Vd.T Vm.T Vn.T         | 0 Q 0 01110 size:2 1 m:5 00110 1 n:5 d:5             | T=bhsd
cmlo   Vd.T Vm.T Vn.T         | 0 Q 1 01110 size:2 1 m:5 00110 1 n:5 d:5             | T=bhsd
cmls   Vd.T Vm.T Vn.T         | 0 Q 1 01110 size:2 1 m:5 00111 1 n:5 d:5             | T=bhsd
cmgt   Vd.T Vn.T #0           | 0 Q 0 01110 size:2 10000 01000 10 n:5 d:5            | T=bhsd
cmge   Vd.T Vn.T #0           | 0 Q 1 01110 size:2 10000 01000 10 n:5 d:5            | T=bhsd
cmeq   Vd.T Vn.T #0           | 0 Q 0 01110 size:2 10000 01001 10 n:5 d:5            | T=bhsd
cmle   Vd.T Vn.T #0           | 0 Q 1 01110 size:2 10000 01001 10 n:5 d:5            | T=bhsd
cmlt   Vd.T Vn.T #0           | 0 Q 0 01110 size:2 10000 01010 10 n:5 d:5            | T=bhsd

# Shifts: by a constant, by the lanes of a register (negative: right), with insertion, with accumulation.
shl    Vd.T Vn.T #left        | 0 Q 0 011110 immhb:7 01010 1 n:5 d:5                 | T=bhsd
shl    Dd Dn #left            | 01 0 111110 immhb:7 01010 1 n:5 d:5                  | E=d
sshr   Vd.T Vn.T #right       | 0 Q 0 011110 immhb:7 00000 1 n:5 d:5                 | T=bhsd
sshr   Dd Dn #right           | 01 0 111110 immhb:7 00000 1 n:5 d:5                  | E=d
ushr   Vd.T Vn.T #right       | 0 Q 1 011110 immhb:7 00000 1 n:5 d:5                 | T=bhsd
ushr   Dd Dn #right           | 01 1 111110 immhb:7 00000 1 n:5 d:5                  | E=d
srshr  Vd.T Vn.T #right       | 0 Q 0 011110 immhb:7 00100 1 n:5 d:5                 | T=bhsd
urshr  Vd.T Vn.T #right       | 0 Q 1 011110 immhb:7 00100 1 n:5 d:5                 | T=bhsd
ssra   Vd.T Vn.T #right       | 0 Q 0 011110 immhb:7 00010 1 n:5 d:5                 | T=bhsd
usra   Vd.T Vn.T #right       | 0 Q 1 011110 immhb:7 00010 1 n:5 d:5                 | T=bhsd
sri    Vd.T Vn.T #right       | 0 Q 1 011110 immhb:7 01000 1 n:5 d:5                 | T=bhsd
sli    Vd.T Vn.T #left        | 0 Q 1 011110 immhb:7 01010 1 n:5 d:5                 | T=bhsd
sshl   Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 01000 1 n:5 d:5             | T=bhsd
sshl   Dd Dn Dm               | 01 0 11110 11 1 m:5 01000 1 n:5 d:5
ushl   Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 01000 1 n:5 d:5             | T=bhsd
ushl   Dd Dn Dm               | 01 1 11110 11 1 m:5 01000 1 n:5 d:5
srshl  Vd.T Vn.T Vm.T         | 0 Q 0 01110 size:2 1 m:5 01010 1 n:5 d:5             | T=bhsd
urshl  Vd.T Vn.T Vm.T         | 0 Q 1 01110 size:2 1 m:5 01010 1 n:5 d:5             | T=bhsd

# Widening: the low half of the sources; with 2, the high half.
sshll  Vd.Ta Vn.T #left       | 0 0 0 011110 immhb:7 10100 1 n:5 d:5                 | T=8b,4h,2s
sshll2 Vd.Ta Vn.T #left       | 0 1 0 011110 immhb:7 10100 1 n:5 d:5                 | T=16b,8h,4s
ushll  Vd.Ta Vn.T #left       | 0 0 1 011110 immhb:7 10100 1 n:5 d:5                 | T=8b,4h,2s
ushll2 Vd.Ta Vn.T #left       | 0 1 1 011110 immhb:7 10100 1 n:5 d:5                 | T=16b,8h,4s
sxtl   Vd.Ta Vn.T             | 0 0 0 011110 immhb:7 10100 1 n:5 d:5                 | T=8b,4h,2s
sxtl2  Vd.Ta Vn.T             | 0 1 0 011110 immhb:7 10100 1 n:5 d:5                 | T=16b,8h,4s
uxtl   Vd.Ta Vn.T             | 0 0 1 011110 immhb:7 10100 1 n:5 d:5                 | T=8b,4h,2s
uxtl2  Vd.Ta Vn.T             | 0 1 1 011110 immhb:7 10100 1 n:5 d:5                 | T=16b,8h,4s
shll   Vd.Ta Vn.T #element    | 0 0 1 01110 size:2 10000 10011 10 n:5 d:5            | T=8b,4h,2s
shll2  Vd.Ta Vn.T #element    | 0 1 1 01110 size:2 10000 10011 10 n:5 d:5            | T=16b,8h,4s
saddl  Vd.Ta Vn.T Vm.T        | 0 0 0 01110 size:2 1 m:5 0000 00 n:5 d:5             | T=8b,4h,2s
saddl2 Vd.Ta Vn.T Vm.T        | 0 1 0 01110 size:2 1 m:5 0000 00 n:5 d:5             | T=16b,8h,4s
uaddl  Vd.Ta Vn.T Vm.T        | 0 0 1 01110 size:2 1 m:5 0000 00 n:5 d:5             | T=8b,4h,2s
uaddl2 Vd.Ta Vn.T Vm.T        | 0 1 1 01110 size:2 1 m:5 0000 00 n:5 d:5             | T=16b,8h,4s
saddw  Vd.Ta Vn.Ta Vm.T       | 0 0 0 01110 size:2 1 m:5 0001 00 n:5 d:5             | T=8b,4h,2s
saddw2 Vd.Ta Vn.Ta Vm.T       | 0 1 0 01110 size:2 1 m:5 0001 00 n:5 d:5             | T=16b,8h,4s
uaddw  Vd.Ta Vn.Ta Vm.T       | 0 0 1 01110 size:2 1 m:5 0001 00 n:5 d:5             | T=8b,4h,2s
uaddw2 Vd.Ta Vn.Ta Vm.T       | 0 1 1 01110 size:2 1 m:5 0001 00 n:5 d:5             | T=16b,8h,4s
ssubl  Vd.Ta Vn.T Vm.T        | 0 0 0 01110 size:2 1 m:5 0010 00 n:5 d:5             | T=8b,4h,2s
ssubl2 Vd.Ta Vn.T Vm.T        | 0 1 0 01110 size:2 1 m:5 0010 00 n:5 d:5             | T=16b,8h,4s
usubl  Vd.Ta Vn.T Vm.T        | 0 0 1 01110 size:2 1 m:5 0010 00 n:5 d:5             | T=8b,4h,2s
usubl2 Vd.Ta Vn.T Vm.T        | 0 1 1 01110 size:2 1 m:5 0010 00 n:5 d:5             | T=16b,8h,4s
smull  Vd.Ta Vn.T Vm.T        | 0 0 0 01110 size:2 1 m:5 1100 00 n:5 d:5             | T=8b,4h,2s
smull2 Vd.Ta Vn.T Vm.T        | 0 1 0 01110 size:2 1 m:5 1100 00 n:5 d:5             | T=16b,8h,4s
umull  Vd.Ta Vn.T Vm.T        | 0 0 1 01110 size:2 1 m:5 1100 00 n:5 d:5             | T=8b,4h,2s
umull2 Vd.Ta Vn.T Vm.T        | 0 1 1 01110 size:2 1 m:5 1100 00 n:5 d:5             | T=16b,8h,4s
smlal  Vd.Ta Vn.T Vm.T        | 0 0 0 01110 size:2 1 m:5 1000 00 n:5 d:5             | T=8b,4h,2s
smlal2 Vd.Ta Vn.T Vm.T        | 0 1 0 01110 size:2 1 m:5 1000 00 n:5 d:5             | T=16b,8h,4s
umlal  Vd.Ta Vn.T Vm.T        | 0 0 1 01110 size:2 1 m:5 1000 00 n:5 d:5             | T=8b,4h,2s
umlal2 Vd.Ta Vn.T Vm.T        | 0 1 1 01110 size:2 1 m:5 1000 00 n:5 d:5             | T=16b,8h,4s

# Narrowing: into the low half of the destination; with 2, into the high half. sq, uq, squ saturate.
xtn    Vd.T Vn.Ta             | 0 0 0 01110 size:2 10000 10010 10 n:5 d:5            | T=8b,4h,2s
xtn2   Vd.T Vn.Ta             | 0 1 0 01110 size:2 10000 10010 10 n:5 d:5            | T=16b,8h,4s
sqxtn  Vd.T Vn.Ta             | 0 0 0 01110 size:2 10000 10100 10 n:5 d:5            | T=8b,4h,2s
sqxtn2 Vd.T Vn.Ta             | 0 1 0 01110 size:2 10000 10100 10 n:5 d:5            | T=16b,8h,4s
uqxtn  Vd.T Vn.Ta             | 0 0 1 01110 size:2 10000 10100 10 n:5 d:5            | T=8b,4h,2s
uqxtn2 Vd.T Vn.Ta             | 0 1 1 01110 size:2 10000 10100 10 n:5 d:5            | T=16b,8h,4s
sqxtun Vd.T Vn.Ta             | 0 0 1 01110 size:2 10000 10010 10 n:5 d:5            | T=8b,4h,2s
sqxtun2 Vd.T Vn.Ta            | 0 1 1 01110 size:2 10000 10010 10 n:5 d:5            | T=16b,8h,4s
shrn   Vd.T Vn.Ta #right      | 0 0 0 011110 immhb:7 10000 1 n:5 d:5                 | T=8b,4h,2s
shrn2  Vd.T Vn.Ta #right      | 0 1 0 011110 immhb:7 10000 1 n:5 d:5                 | T=16b,8h,4s
rshrn  Vd.T Vn.Ta #right      | 0 0 0 011110 immhb:7 10001 1 n:5 d:5                 | T=8b,4h,2s
rshrn2 Vd.T Vn.Ta #right      | 0 1 0 011110 immhb:7 10001 1 n:5 d:5                 | T=16b,8h,4s
"""
