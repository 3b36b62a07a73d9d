"""Moving, permuting and combining bits of vector registers. Notation: see `einloom.asm.aarch64.row`.

G is the general register that holds one element: W up to 32 bits, X for 64.
"""

ROWS = """
# Copies of registers and elements.
mov   Vd.T Vn,m.T             | 0 Q 0 01110 10 1 m:5 00011 1 n:5 d:5                 | T=bhsd
dup   Vd.T Vn.E[imm5]         | 0 Q 0 01110000 imm5:5 0 0000 1 n:5 d:5               | T=bhsd
dup   Vd.T Gn                 | 0 Q 0 01110000 imm5:5 0 0001 1 n:5 d:5               | T=bhsd
dup   Ed Vn.E[imm5]           | 01 0 11110000 imm5:5 0 0000 1 n:5 d:5                | E=bhsd
mov   Ed Vn.E[imm5]           | 01 0 11110000 imm5:5 0 0000 1 n:5 d:5                | E=bhsd
ins   Vd.E[imm5] Gn           | 0 1 0 01110000 imm5:5 0 0011 1 n:5 d:5               | E=bhsd
mov   Vd.E[imm5] Gn           | 0 1 0 01110000 imm5:5 0 0011 1 n:5 d:5               | E=bhsd
ins   Vd.E[imm5] Vn.E[imm4]   | 0 1 1 01110000 imm5:5 0 imm4:4 1 n:5 d:5             | E=bhsd
mov   Vd.E[imm5] Vn.E[imm4]   | 0 1 1 01110000 imm5:5 0 imm4:4 1 n:5 d:5             | E=bhsd
umov  Wd Vn.E[imm5]           | 0 0 0 01110000 imm5:5 0 0111 1 n:5 d:5               | E=bhs
umov  Xd Vn.d[imm5]           | 0 1 0 01110000 imm5:5 0 0111 1 n:5 d:5               | E=d
mov   Wd Vn.s[imm5]           | 0 0 0 01110000 imm5:5 0 0111 1 n:5 d:5               | E=s
mov   Xd Vn.d[imm5]           | 0 1 0 01110000 imm5:5 0 0111 1 n:5 d:5               | E=d
smov  Wd Vn.E[imm5]           | 0 0 0 01110000 imm5:5 0 0101 1 n:5 d:5               | E=bh
smov  Xd Vn.E[imm5]           | 0 1 0 01110000 imm5:5 0 0101 1 n:5 d:5               | E=bhs

# Permutations.
trn1  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 010 10 n:5 d:5            | T=bhsd
trn2  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 110 10 n:5 d:5            | T=bhsd
zip1  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 011 10 n:5 d:5            | T=bhsd
zip2  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 111 10 n:5 d:5            | T=bhsd
uzp1  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 001 10 n:5 d:5            | T=bhsd
uzp2  Vd.T Vn.T Vm.T          | 0 Q 0 01110 size:2 0 m:5 0 101 10 n:5 d:5            | T=bhsd
ext   Vd.8b Vn.8b Vm.8b #u3   | 0 0 1 01110 00 0 m:5 0 0 imm:3 0 n:5 d:5
ext   Vd.16b Vn.16b Vm.16b #u4 | 0 1 1 01110 00 0 m:5 0 imm:4 0 n:5 d:5
rev64 Vd.T Vn.T               | 0 Q 0 01110 size:2 10000 00000 10 n:5 d:5            | T=bhs
rev32 Vd.T Vn.T               | 0 Q 1 01110 size:2 10000 00000 10 n:5 d:5            | T=bh
rev16 Vd.T Vn.T               | 0 Q 0 01110 size:2 10000 00001 10 n:5 d:5            | T=b
tbl   Vd.T {Vn.16b*1} Vm.T    | 0 Q 0 01110 00 0 m:5 0 00 0 00 n:5 d:5               | T=b
tbl   Vd.T {Vn.16b*2} Vm.T    | 0 Q 0 01110 00 0 m:5 0 01 0 00 n:5 d:5               | T=b
tbl   Vd.T {Vn.16b*3} Vm.T    | 0 Q 0 01110 00 0 m:5 0 10 0 00 n:5 d:5               | T=b
tbl   Vd.T {Vn.16b*4} Vm.T    | 0 Q 0 01110 00 0 m:5 0 11 0 00 n:5 d:5               | T=b
tbx   Vd.T {Vn.16b*1} Vm.T    | 0 Q 0 01110 00 0 m:5 0 00 1 00 n:5 d:5               | T=b
tbx   Vd.T {Vn.16b*2} Vm.T    | 0 Q 0 01110 00 0 m:5 0 01 1 00 n:5 d:5               | T=b
tbx   Vd.T {Vn.16b*3} Vm.T    | 0 Q 0 01110 00 0 m:5 0 10 1 00 n:5 d:5               | T=b
tbx   Vd.T {Vn.16b*4} Vm.T    | 0 Q 0 01110 00 0 m:5 0 11 1 00 n:5 d:5               | T=b

# Bits. bsl selects by the destination's bits, bit inserts where Vm is 1, bif where it is 0.
and   Vd.T Vn.T Vm.T          | 0 Q 0 01110 00 1 m:5 00011 1 n:5 d:5                 | T=b
bic   Vd.T Vn.T Vm.T          | 0 Q 0 01110 01 1 m:5 00011 1 n:5 d:5                 | T=b
orr   Vd.T Vn.T Vm.T          | 0 Q 0 01110 10 1 m:5 00011 1 n:5 d:5                 | T=b
orn   Vd.T Vn.T Vm.T          | 0 Q 0 01110 11 1 m:5 00011 1 n:5 d:5                 | T=b
eor   Vd.T Vn.T Vm.T          | 0 Q 1 01110 00 1 m:5 00011 1 n:5 d:5                 | T=b
bsl   Vd.T Vn.T Vm.T          | 0 Q 1 01110 01 1 m:5 00011 1 n:5 d:5                 | T=b
bit   Vd.T Vn.T Vm.T          | 0 Q 1 01110 10 1 m:5 00011 1 n:5 d:5                 | T=b
bif   Vd.T Vn.T Vm.T          | 0 Q 1 01110 11 1 m:5 00011 1 n:5 d:5                 | T=b
not   Vd.T Vn.T               | 0 Q 1 01110 00 10000 00101 10 n:5 d:5                | T=b
mvn   Vd.T Vn.T               | 0 Q 1 01110 00 10000 00101 10 n:5 d:5                | T=b
rbit  Vd.T Vn.T               | 0 Q 1 01110 01 10000 00101 10 n:5 d:5                | T=b

# Constants. `msl` shifts ones in; movi of 64 bits takes 00 or ff in every byte.
movi  Vd.T #u8                | 0 Q 0 0111100000 abc:3 1110 01 defgh:5 d:5           | T=b
movi  Vd.T #u8 {lsl}          | 0 Q 0 0111100000 abc:3 10 by8:1 0 01 defgh:5 d:5     | T=h
movi  Vd.T #u8 {lsl}          | 0 Q 0 0111100000 abc:3 0 by8:2 0 01 defgh:5 d:5      | T=s
movi  Vd.T #u8 msl            | 0 Q 0 0111100000 abc:3 110 ones 01 defgh:5 d:5       | T=s
movi  Dd #bytemask            | 0 0 1 0111100000 abc:3 1110 01 defgh:5 d:5
movi  Vd.2d #bytemask         | 0 1 1 0111100000 abc:3 1110 01 defgh:5 d:5
mvni  Vd.T #u8 {lsl}          | 0 Q 1 0111100000 abc:3 10 by8:1 0 01 defgh:5 d:5     | T=h
mvni  Vd.T #u8 {lsl}          | 0 Q 1 0111100000 abc:3 0 by8:2 0 01 defgh:5 d:5      | T=s
mvni  Vd.T #u8 msl            | 0 Q 1 0111100000 abc:3 110 ones 01 defgh:5 d:5       | T=s
orr   Vd.T #u8 {lsl}          | 0 Q 0 0111100000 abc:3 10 by8:1 1 01 defgh:5 d:5     | T=h
orr   Vd.T #u8 {lsl}          | 0 Q 0 0111100000 abc:3 0 by8:2 1 01 defgh:5 d:5      | T=s
bic   Vd.T #u8 {lsl}          | 0 Q 1 0111100000 abc:3 10 by8:1 1 01 defgh:5 d:5     | T=h
bic   Vd.T #u8 {lsl}          | 0 Q 1 0111100000 abc:3 0 by8:2 1 01 defgh:5 d:5      | T=s
"""
