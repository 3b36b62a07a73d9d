"""Loads and stores of vector register lists: LD1 to LD4, ST1 to ST4. Notation: see `einloom.asm.aarch64.row`.

`{Vt.T*4}` is a list of four registers with consecutive numbers, `{Vt.E[QSz]*4}` one lane of each.
The post-index immediate is the number of bytes that are moved.
"""

ROWS = """
# Multiple structures. LD1 moves one to four registers, LD2 to LD4 (un)zip.
ld1   {Vt.T*1} [n]            | 0 Q 0011000 1 0 00000 0111 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*1} [n],#bytes     | 0 Q 0011001 1 0 11111 0111 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*1} [n],m          | 0 Q 0011001 1 0 m:5 0111 size:2 n:5 t:5              | T=bhsd1
ld1   {Vt.T*2} [n]            | 0 Q 0011000 1 0 00000 1010 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*2} [n],#bytes     | 0 Q 0011001 1 0 11111 1010 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*2} [n],m          | 0 Q 0011001 1 0 m:5 1010 size:2 n:5 t:5              | T=bhsd1
ld1   {Vt.T*3} [n]            | 0 Q 0011000 1 0 00000 0110 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*3} [n],#bytes     | 0 Q 0011001 1 0 11111 0110 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*3} [n],m          | 0 Q 0011001 1 0 m:5 0110 size:2 n:5 t:5              | T=bhsd1
ld1   {Vt.T*4} [n]            | 0 Q 0011000 1 0 00000 0010 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*4} [n],#bytes     | 0 Q 0011001 1 0 11111 0010 size:2 n:5 t:5            | T=bhsd1
ld1   {Vt.T*4} [n],m          | 0 Q 0011001 1 0 m:5 0010 size:2 n:5 t:5              | T=bhsd1
ld2   {Vt.T*2} [n]            | 0 Q 0011000 1 0 00000 1000 size:2 n:5 t:5            | T=bhsd
ld2   {Vt.T*2} [n],#bytes     | 0 Q 0011001 1 0 11111 1000 size:2 n:5 t:5            | T=bhsd
ld2   {Vt.T*2} [n],m          | 0 Q 0011001 1 0 m:5 1000 size:2 n:5 t:5              | T=bhsd
ld3   {Vt.T*3} [n]            | 0 Q 0011000 1 0 00000 0100 size:2 n:5 t:5            | T=bhsd
ld3   {Vt.T*3} [n],#bytes     | 0 Q 0011001 1 0 11111 0100 size:2 n:5 t:5            | T=bhsd
ld3   {Vt.T*3} [n],m          | 0 Q 0011001 1 0 m:5 0100 size:2 n:5 t:5              | T=bhsd
ld4   {Vt.T*4} [n]            | 0 Q 0011000 1 0 00000 0000 size:2 n:5 t:5            | T=bhsd
ld4   {Vt.T*4} [n],#bytes     | 0 Q 0011001 1 0 11111 0000 size:2 n:5 t:5            | T=bhsd
ld4   {Vt.T*4} [n],m          | 0 Q 0011001 1 0 m:5 0000 size:2 n:5 t:5              | T=bhsd
st1   {Vt.T*1} [n]            | 0 Q 0011000 0 0 00000 0111 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*1} [n],#bytes     | 0 Q 0011001 0 0 11111 0111 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*1} [n],m          | 0 Q 0011001 0 0 m:5 0111 size:2 n:5 t:5              | T=bhsd1
st1   {Vt.T*2} [n]            | 0 Q 0011000 0 0 00000 1010 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*2} [n],#bytes     | 0 Q 0011001 0 0 11111 1010 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*2} [n],m          | 0 Q 0011001 0 0 m:5 1010 size:2 n:5 t:5              | T=bhsd1
st1   {Vt.T*3} [n]            | 0 Q 0011000 0 0 00000 0110 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*3} [n],#bytes     | 0 Q 0011001 0 0 11111 0110 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*3} [n],m          | 0 Q 0011001 0 0 m:5 0110 size:2 n:5 t:5              | T=bhsd1
st1   {Vt.T*4} [n]            | 0 Q 0011000 0 0 00000 0010 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*4} [n],#bytes     | 0 Q 0011001 0 0 11111 0010 size:2 n:5 t:5            | T=bhsd1
st1   {Vt.T*4} [n],m          | 0 Q 0011001 0 0 m:5 0010 size:2 n:5 t:5              | T=bhsd1
st2   {Vt.T*2} [n]            | 0 Q 0011000 0 0 00000 1000 size:2 n:5 t:5            | T=bhsd
st2   {Vt.T*2} [n],#bytes     | 0 Q 0011001 0 0 11111 1000 size:2 n:5 t:5            | T=bhsd
st2   {Vt.T*2} [n],m          | 0 Q 0011001 0 0 m:5 1000 size:2 n:5 t:5              | T=bhsd
st3   {Vt.T*3} [n]            | 0 Q 0011000 0 0 00000 0100 size:2 n:5 t:5            | T=bhsd
st3   {Vt.T*3} [n],#bytes     | 0 Q 0011001 0 0 11111 0100 size:2 n:5 t:5            | T=bhsd
st3   {Vt.T*3} [n],m          | 0 Q 0011001 0 0 m:5 0100 size:2 n:5 t:5              | T=bhsd
st4   {Vt.T*4} [n]            | 0 Q 0011000 0 0 00000 0000 size:2 n:5 t:5            | T=bhsd
st4   {Vt.T*4} [n],#bytes     | 0 Q 0011001 0 0 11111 0000 size:2 n:5 t:5            | T=bhsd
st4   {Vt.T*4} [n],m          | 0 Q 0011001 0 0 m:5 0000 size:2 n:5 t:5              | T=bhsd

# One structure into one lane.
ld1   {Vt.E[QSz]*1} [n]         | 0 Q 0011010 1 0 00000 lane:2 0 S z:2 n:5 t:5       | E=bhsd
ld1   {Vt.E[QSz]*1} [n],#bytes  | 0 Q 0011011 1 0 11111 lane:2 0 S z:2 n:5 t:5       | E=bhsd
ld1   {Vt.E[QSz]*1} [n],m       | 0 Q 0011011 1 0 m:5 lane:2 0 S z:2 n:5 t:5         | E=bhsd
ld2   {Vt.E[QSz]*2} [n]         | 0 Q 0011010 1 1 00000 lane:2 0 S z:2 n:5 t:5       | E=bhsd
ld2   {Vt.E[QSz]*2} [n],#bytes  | 0 Q 0011011 1 1 11111 lane:2 0 S z:2 n:5 t:5       | E=bhsd
ld2   {Vt.E[QSz]*2} [n],m       | 0 Q 0011011 1 1 m:5 lane:2 0 S z:2 n:5 t:5         | E=bhsd
ld3   {Vt.E[QSz]*3} [n]         | 0 Q 0011010 1 0 00000 lane:2 1 S z:2 n:5 t:5       | E=bhsd
ld3   {Vt.E[QSz]*3} [n],#bytes  | 0 Q 0011011 1 0 11111 lane:2 1 S z:2 n:5 t:5       | E=bhsd
ld3   {Vt.E[QSz]*3} [n],m       | 0 Q 0011011 1 0 m:5 lane:2 1 S z:2 n:5 t:5         | E=bhsd
ld4   {Vt.E[QSz]*4} [n]         | 0 Q 0011010 1 1 00000 lane:2 1 S z:2 n:5 t:5       | E=bhsd
ld4   {Vt.E[QSz]*4} [n],#bytes  | 0 Q 0011011 1 1 11111 lane:2 1 S z:2 n:5 t:5       | E=bhsd
ld4   {Vt.E[QSz]*4} [n],m       | 0 Q 0011011 1 1 m:5 lane:2 1 S z:2 n:5 t:5         | E=bhsd
st1   {Vt.E[QSz]*1} [n]         | 0 Q 0011010 0 0 00000 lane:2 0 S z:2 n:5 t:5       | E=bhsd
st1   {Vt.E[QSz]*1} [n],#bytes  | 0 Q 0011011 0 0 11111 lane:2 0 S z:2 n:5 t:5       | E=bhsd
st1   {Vt.E[QSz]*1} [n],m       | 0 Q 0011011 0 0 m:5 lane:2 0 S z:2 n:5 t:5         | E=bhsd
st2   {Vt.E[QSz]*2} [n]         | 0 Q 0011010 0 1 00000 lane:2 0 S z:2 n:5 t:5       | E=bhsd
st2   {Vt.E[QSz]*2} [n],#bytes  | 0 Q 0011011 0 1 11111 lane:2 0 S z:2 n:5 t:5       | E=bhsd
st2   {Vt.E[QSz]*2} [n],m       | 0 Q 0011011 0 1 m:5 lane:2 0 S z:2 n:5 t:5         | E=bhsd
st3   {Vt.E[QSz]*3} [n]         | 0 Q 0011010 0 0 00000 lane:2 1 S z:2 n:5 t:5       | E=bhsd
st3   {Vt.E[QSz]*3} [n],#bytes  | 0 Q 0011011 0 0 11111 lane:2 1 S z:2 n:5 t:5       | E=bhsd
st3   {Vt.E[QSz]*3} [n],m       | 0 Q 0011011 0 0 m:5 lane:2 1 S z:2 n:5 t:5         | E=bhsd
st4   {Vt.E[QSz]*4} [n]         | 0 Q 0011010 0 1 00000 lane:2 1 S z:2 n:5 t:5       | E=bhsd
st4   {Vt.E[QSz]*4} [n],#bytes  | 0 Q 0011011 0 1 11111 lane:2 1 S z:2 n:5 t:5       | E=bhsd
st4   {Vt.E[QSz]*4} [n],m       | 0 Q 0011011 0 1 m:5 lane:2 1 S z:2 n:5 t:5         | E=bhsd

# One structure, replicated to all lanes.
ld1r  {Vt.T*1} [n]            | 0 Q 0011010 1 0 00000 110 0 size:2 n:5 t:5           | T=bhsd1
ld1r  {Vt.T*1} [n],#element   | 0 Q 0011011 1 0 11111 110 0 size:2 n:5 t:5           | T=bhsd1
ld1r  {Vt.T*1} [n],m          | 0 Q 0011011 1 0 m:5 110 0 size:2 n:5 t:5             | T=bhsd1
ld2r  {Vt.T*2} [n]            | 0 Q 0011010 1 1 00000 110 0 size:2 n:5 t:5           | T=bhsd1
ld2r  {Vt.T*2} [n],#element   | 0 Q 0011011 1 1 11111 110 0 size:2 n:5 t:5           | T=bhsd1
ld2r  {Vt.T*2} [n],m          | 0 Q 0011011 1 1 m:5 110 0 size:2 n:5 t:5             | T=bhsd1
ld3r  {Vt.T*3} [n]            | 0 Q 0011010 1 0 00000 111 0 size:2 n:5 t:5           | T=bhsd1
ld3r  {Vt.T*3} [n],#element   | 0 Q 0011011 1 0 11111 111 0 size:2 n:5 t:5           | T=bhsd1
ld3r  {Vt.T*3} [n],m          | 0 Q 0011011 1 0 m:5 111 0 size:2 n:5 t:5             | T=bhsd1
ld4r  {Vt.T*4} [n]            | 0 Q 0011010 1 1 00000 111 0 size:2 n:5 t:5           | T=bhsd1
ld4r  {Vt.T*4} [n],#element   | 0 Q 0011011 1 1 11111 111 0 size:2 n:5 t:5           | T=bhsd1
ld4r  {Vt.T*4} [n],m          | 0 Q 0011011 1 1 m:5 111 0 size:2 n:5 t:5             | T=bhsd1
"""
