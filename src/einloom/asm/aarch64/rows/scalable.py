"""SVE: vectors as wide as the processor has them, lanes chosen by predicates. Notation: `einloom.asm.aarch64.row`.

`Pg/z` sets lanes that are not chosen to zero, `Pg/m` keeps them; `[n,#s4*vl]` counts whole vectors.
"""

ROWS = """
# Predicates: all lanes; as many as lie between two numbers.
ptrue   Pd.E                         | 00100101 size:2 011000 111000 11111 0 d:4       | E=sd +sve
whilelo Pd.E Xn Xm                   | 00100101 size:2 1 m:5 000 111 n:5 0 d:4         | E=sd +sve

# Memory.
ld1w    {Zt.s*1} Pg/z [n,#s4*vl]     | 1010010 1010 0 imm:4 101 g:3 n:5 t:5            | +sve
ld1d    {Zt.d*1} Pg/z [n,#s4*vl]     | 1010010 1111 0 imm:4 101 g:3 n:5 t:5            | +sve
st1w    {Zt.s*1} Pg [n,#s4*vl]       | 1110010 1010 0 imm:4 111 g:3 n:5 t:5            | +sve
st1d    {Zt.d*1} Pg [n,#s4*vl]       | 1110010 1111 0 imm:4 111 g:3 n:5 t:5            | +sve
ld1rw   {Zt.s*1} Pg/z [n,#u6*4]      | 1000010 101 imm:6 110 g:3 n:5 t:5               | +sve
ld1rd   {Zt.d*1} Pg/z [n,#u6*8]      | 1000010 111 imm:6 111 g:3 n:5 t:5               | +sve

# Registers and arithmetic.
dup     Zd.E #0                      | 00100101 size:2 111000 110 00000000 d:5         | E=sd +sve
mov     Zd.d Zn,m.d                  | 00000100 011 m:5 001100 n:5 d:5                 | +sve
fmla    Zd.E Pg/m Zn.E Zm.E          | 01100101 size:2 1 m:5 000 g:3 n:5 d:5           | E=sd +sve
fadd    Zd.E Zn.E Zm.E               | 01100101 size:2 0 m:5 000000 n:5 d:5            | E=sd +sve
fmul    Zd.E Zn.E Zm.E               | 01100101 size:2 0 m:5 000010 n:5 d:5            | E=sd +sve

# A number of vectors in bytes.
rdvl    Xd #u5                       | 00000100 10111111 01010 imm:6 d:5               | +sve
"""
