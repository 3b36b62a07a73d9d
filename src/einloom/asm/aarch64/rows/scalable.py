"""SVE: vectors as wide as the processor has them, lanes chosen by predicates. Notation: `einloom.asm.aarch64.row`.

`Pg/z` sets lanes that are not chosen to zero, `Pg/m` keeps them; `=Zd.E` is the first operand again; `[n,#s4*vl]`
counts whole vectors, of as many bytes as are moved.
"""

ROWS = """
# Predicates: all lanes; as many as lie between two numbers; those of which something is true.
ptrue   Pd.E                         | 00100101 size:2 011000 111000 11111 0 d:4       | E=sd +sve
whilelo Pd.E Xn Xm                   | 00100101 size:2 1 m:5 000 111 n:5 0 d:4         | E=bsd +sve
fcmgt   Pd.E Pg/z Zn.E Zm.E          | 01100101 size:2 0 m:5 010 g:3 n:5 1 d:4         | E=sd +sve
fcmge   Pd.E Pg/z Zn.E Zm.E          | 01100101 size:2 0 m:5 010 g:3 n:5 0 d:4         | E=sd +sve
fcmeq   Pd.E Pg/z Zn.E Zm.E          | 01100101 size:2 0 m:5 011 g:3 n:5 0 d:4         | E=sd +sve
fcmne   Pd.E Pg/z Zn.E Zm.E          | 01100101 size:2 0 m:5 011 g:3 n:5 1 d:4         | E=sd +sve

# Memory: elements as they are, and narrower ones with zeros or copies of their sign above them.
ld1w    {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 1010 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1d    {Zt.d*1} Pg/z [n,#s4*vl]     | 1010010 1111 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1b    {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 0010 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1sb   {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 1101 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1h    {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 0110 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1sh   {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 1001 0 imm:4 101 g:3 n:5 t:5            | +sve
st1b    {Zt.s*1} Pg [n,#s4*vl]       | 1110010 0010 0 imm:4 111 g:3 n:5 t:5            | +sve
st1h    {Zt.s*1} Pg [n,#s4*vl]       | 1110010 0110 0 imm:4 111 g:3 n:5 t:5            | +sve
st1w    {Zt.s*1} Pg [n,#s4*vl]       | 1110010 1010 0 imm:4 111 g:3 n:5 t:5            | +sve
st1d    {Zt.d*1} Pg [n,#s4*vl]       | 1110010 1111 0 imm:4 111 g:3 n:5 t:5            | +sve
ld1rw   {Zt.s*1} Pg/z [n,#u6*4]      | 1000010 101 imm:6 110 g:3 n:5 t:5               | +sve
ld1rd   {Zt.d*1} Pg/z [n,#u6*8]      | 1000010 111 imm:6 111 g:3 n:5 t:5               | +sve
ld1rb   {Zt.s*1} Pg/z [n,#u6*1]      | 1000010 001 imm:6 110 g:3 n:5 t:5               | +sve
ld1rsb  {Zt.s*1} Pg/z [n,#u6*1]      | 1000010 111 imm:6 101 g:3 n:5 t:5               | +sve
ld1rh   {Zt.s*1} Pg/z [n,#u6*2]      | 1000010 011 imm:6 110 g:3 n:5 t:5               | +sve
ld1rsh  {Zt.s*1} Pg/z [n,#u6*2]      | 1000010 101 imm:6 101 g:3 n:5 t:5               | +sve

# Registers and arithmetic.
dup     Zd.E #0                      | 00100101 size:2 111000 110 00000000 d:5         | E=sd +sve
mov     Zd.d Zn,m.d                  | 00000100 011 m:5 001100 n:5 d:5                 | +sve
fmla    Zd.E Pg/m Zn.E Zm.E          | 01100101 size:2 1 m:5 000 g:3 n:5 d:5           | E=sd +sve
fmls    Zd.E Pg/m Zn.E Zm.E          | 01100101 size:2 1 m:5 001 g:3 n:5 d:5           | E=sd +sve
fadd    Zd.E Zn.E Zm.E               | 01100101 size:2 0 m:5 000000 n:5 d:5            | E=sd +sve
fsub    Zd.E Zn.E Zm.E               | 01100101 size:2 0 m:5 000001 n:5 d:5            | E=sd +sve
fmul    Zd.E Zn.E Zm.E               | 01100101 size:2 0 m:5 000010 n:5 d:5            | E=sd +sve
fdiv    Zd.E Pg/m =Zd.E Zm.E         | 01100101 size:2 001101 100 g:3 m:5 d:5          | E=sd +sve
fdivr   Zd.E Pg/m =Zd.E Zm.E         | 01100101 size:2 001100 100 g:3 m:5 d:5          | E=sd +sve
fmin    Zd.E Pg/m =Zd.E Zm.E         | 01100101 size:2 000111 100 g:3 m:5 d:5          | E=sd +sve
fmax    Zd.E Pg/m =Zd.E Zm.E         | 01100101 size:2 000110 100 g:3 m:5 d:5          | E=sd +sve
fsqrt   Zd.E Pg/m Zn.E               | 01100101 size:2 001101 101 g:3 n:5 d:5          | E=sd +sve
faddv   Ed Pg Zn.E                   | 01100101 size:2 000000 001 g:3 n:5 d:5          | E=sd +sve
sel     Zd.E Pv Zn.E Zm.E            | 00000101 size:2 1 m:5 11 v:4 n:5 d:5            | E=sd +sve

# Integers and bits.
add     Zd.E Zn.E Zm.E               | 00000100 size:2 1 m:5 000000 n:5 d:5            | E=sd +sve
sub     Zd.E Zn.E Zm.E               | 00000100 size:2 1 m:5 000001 n:5 d:5            | E=sd +sve
mul     Zd.E Pg/m =Zd.E Zm.E         | 00000100 size:2 010000 000 g:3 m:5 d:5          | E=sd +sve
mla     Zd.E Pg/m Zn.E Zm.E          | 00000100 size:2 0 m:5 010 g:3 n:5 d:5           | E=sd +sve
and     Zd.d Zn.d Zm.d               | 00000100 001 m:5 001100 n:5 d:5                 | +sve
orr     Zd.d Zn.d Zm.d               | 00000100 011 m:5 001100 n:5 d:5                 | n!=m +sve
eor     Zd.d Zn.d Zm.d               | 00000100 101 m:5 001100 n:5 d:5                 | +sve
lsl     Zd.E Zn.E #left              | 00000100 tszh:2 1 tszl:5 100111 n:5 d:5         | E=sd +sve
lsr     Zd.E Zn.E #right             | 00000100 tszh:2 1 tszl:5 100101 n:5 d:5         | E=sd +sve

# Between float32 and the halves in the lower part of its element.
fcvt    Zd.s Pg/m Zn.h               | 01100101 10001001 101 g:3 n:5 d:5               | +sve
fcvt    Zd.h Pg/m Zn.s               | 01100101 10001000 101 g:3 n:5 d:5               | +sve
bfcvt   Zd.h Pg/m Zn.s               | 01100101 10001010 101 g:3 n:5 d:5               | +sve_bf16

# Sums of products of groups: quads of bytes, pairs of bfloat16.
sdot    Zd.s Zn.b Zm.b               | 01000100 100 m:5 000000 n:5 d:5                 | +sve
udot    Zd.s Zn.b Zm.b               | 01000100 100 m:5 000001 n:5 d:5                 | +sve
usdot   Zd.s Zn.b Zm.b               | 01000100 100 m:5 011110 n:5 d:5                 | +sve_i8mm
bfdot   Zd.s Zn.h Zm.h               | 01100100 011 m:5 100000 n:5 d:5                 | +sve_bf16

# A number of vectors in bytes.
rdvl    Xd #u5                       | 00000100 10111111 01010 imm:6 d:5               | +sve
"""
