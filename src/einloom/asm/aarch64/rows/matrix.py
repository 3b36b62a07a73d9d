"""SME: streaming mode and sums of outer products in the tiles of ZA. Notation: see `einloom.asm.aarch64.row`.

A tile is a square of elements, `ZAah.E[w,o]` its row number w (w12 to w15) + o.
"""

ROWS = """
smstart                              | 11010101 00000011 01000111 01111111             | +sme
smstop                               | 11010101 00000011 01000110 01111111             | +sme
zero    {ZA}                         | 11000000 00001000 00000000 11111111             | +sme
fmopa   ZAa.s Pg/m Pm/m Zn.s Zr.s    | 10000000100 r:5 m:3 g:3 n:5 000 a:2             | +sme
fmopa   ZAa.d Pg/m Pm/m Zn.d Zr.d    | 10000000110 r:5 m:3 g:3 n:5 00 a:3              | +sme_f64f64
bfmopa  ZAa.s Pg/m Pm/m Zn.h Zr.h    | 10000001100 r:5 m:3 g:3 n:5 000 a:2             | +sme
smopa   ZAa.s Pg/m Pm/m Zn.b Zr.b    | 10100000100 r:5 m:3 g:3 n:5 000 a:2             | +sme
sumopa  ZAa.s Pg/m Pm/m Zn.b Zr.b    | 10100000101 r:5 m:3 g:3 n:5 000 a:2             | +sme
usmopa  ZAa.s Pg/m Pm/m Zn.b Zr.b    | 10100001100 r:5 m:3 g:3 n:5 000 a:2             | +sme
umopa   ZAa.s Pg/m Pm/m Zn.b Zr.b    | 10100001101 r:5 m:3 g:3 n:5 000 a:2             | +sme
mova    Zd.s Pg/m ZAah.s[w,o]        | 11000000 10 000010 0 w:2 g:3 0 a:2 o:2 d:5      | +sme
mova    Zd.d Pg/m ZAah.d[w,o]        | 11000000 11 000010 0 w:2 g:3 0 a:3 o:1 d:5      | +sme
"""
