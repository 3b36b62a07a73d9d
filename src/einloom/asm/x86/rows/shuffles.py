"""Permutations of elements. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Interleave and duplicate
vunpcklps    xy xy xy/m              | VEX.0F.WIG 14 /r RVM           | avx
vunpcklps    xyz{kz} xyz xyz/m/b4    | EVEX.0F.W0 14 /r RVM           | avx512f
vunpcklpd    xy xy xy/m              | VEX.66.0F.WIG 14 /r RVM        | avx
vunpcklpd    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 14 /r RVM        | avx512f
vunpckhps    xy xy xy/m              | VEX.0F.WIG 15 /r RVM           | avx
vunpckhps    xyz{kz} xyz xyz/m/b4    | EVEX.0F.W0 15 /r RVM           | avx512f
vunpckhpd    xy xy xy/m              | VEX.66.0F.WIG 15 /r RVM        | avx
vunpckhpd    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 15 /r RVM        | avx512f
vpunpcklbw   xy xy xy/m              | VEX.66.0F.WIG 60 /r RVM        | avx/avx2
vpunpcklbw   xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG 60 /r RVM       | avx512bw
vpunpcklwd   xy xy xy/m              | VEX.66.0F.WIG 61 /r RVM        | avx/avx2
vpunpcklwd   xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG 61 /r RVM       | avx512bw
vpunpckldq   xy xy xy/m              | VEX.66.0F.WIG 62 /r RVM        | avx/avx2
vpunpckldq   xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 62 /r RVM        | avx512f
vpunpcklqdq  xy xy xy/m              | VEX.66.0F.WIG 6C /r RVM        | avx/avx2
vpunpcklqdq  xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 6C /r RVM        | avx512f
vpunpckhbw   xy xy xy/m              | VEX.66.0F.WIG 68 /r RVM        | avx/avx2
vpunpckhbw   xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG 68 /r RVM       | avx512bw
vpunpckhwd   xy xy xy/m              | VEX.66.0F.WIG 69 /r RVM        | avx/avx2
vpunpckhwd   xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG 69 /r RVM       | avx512bw
vpunpckhdq   xy xy xy/m              | VEX.66.0F.WIG 6A /r RVM        | avx/avx2
vpunpckhdq   xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 6A /r RVM        | avx512f
vpunpckhqdq  xy xy xy/m              | VEX.66.0F.WIG 6D /r RVM        | avx/avx2
vpunpckhqdq  xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 6D /r RVM        | avx512f
vmovddup     x x/m64                 | VEX.F2.0F.WIG 12 /r RM         | avx
vmovddup     y y/m                   | VEX.F2.0F.WIG 12 /r RM         | avx
vmovddup     x{kz} x/m64             | EVEX.F2.0F.W1 12 /r RM         | avx512f avx512vl
vmovddup     yz{kz} yz/m             | EVEX.F2.0F.W1 12 /r RM         | avx512f
vmovsldup    xy xy/m                 | VEX.F3.0F.WIG 12 /r RM         | avx
vmovsldup    xyz{kz} xyz/m           | EVEX.F3.0F.W0 12 /r RM         | avx512f
vmovshdup    xy xy/m                 | VEX.F3.0F.WIG 16 /r RM         | avx
vmovshdup    xyz{kz} xyz/m           | EVEX.F3.0F.W0 16 /r RM         | avx512f
# Within 128 bits
vshufps      xy xy xy/m i8           | VEX.0F.WIG C6 /r ib RVMI       | avx
vshufps      xyz{kz} xyz xyz/m/b4 i8 | EVEX.0F.W0 C6 /r ib RVMI       | avx512f
vshufpd      xy xy xy/m i8           | VEX.66.0F.WIG C6 /r ib RVMI    | avx
vshufpd      xyz{kz} xyz xyz/m/b8 i8 | EVEX.66.0F.W1 C6 /r ib RVMI    | avx512f
vpermilps    xy xy xy/m              | VEX.66.0F38.W0 0C /r RVM       | avx
vpermilps    xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 0C /r RVM      | avx512f
vpermilps    xy xy/m i8              | VEX.66.0F3A.W0 04 /r ib RMI    | avx
vpermilps    xyz{kz} xyz/m/b4 i8     | EVEX.66.0F3A.W0 04 /r ib RMI   | avx512f
vpermilpd    xy xy xy/m              | VEX.66.0F38.W0 0D /r RVM       | avx
vpermilpd    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 0D /r RVM      | avx512f
vpermilpd    xy xy/m i8              | VEX.66.0F3A.W0 05 /r ib RMI    | avx
vpermilpd    xyz{kz} xyz/m/b8 i8     | EVEX.66.0F3A.W1 05 /r ib RMI   | avx512f
vpshufd      xy xy/m i8              | VEX.66.0F.WIG 70 /r ib RMI     | avx/avx2
vpshufd      xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 70 /r ib RMI     | avx512f
vpshufhw     xy xy/m i8              | VEX.F3.0F.WIG 70 /r ib RMI     | avx/avx2
vpshufhw     xyz{kz} xyz/m i8        | EVEX.F3.0F.WIG 70 /r ib RMI    | avx512bw
vpshuflw     xy xy/m i8              | VEX.F2.0F.WIG 70 /r ib RMI     | avx/avx2
vpshuflw     xyz{kz} xyz/m i8        | EVEX.F2.0F.WIG 70 /r ib RMI    | avx512bw
vpshufb      xy xy xy/m              | VEX.66.0F38.WIG 00 /r RVM      | avx/avx2
vpshufb      xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 00 /r RVM     | avx512bw
vpalignr     xy xy xy/m i8           | VEX.66.0F3A.WIG 0F /r ib RVMI  | avx/avx2
vpalignr     xyz{kz} xyz xyz/m i8    | EVEX.66.0F3A.WIG 0F /r ib RVMI | avx512bw
# Across 128 bits
vperm2f128   y y y/m i8              | VEX.66.0F3A.W0 06 /r ib RVMI   | avx
vperm2i128   y y y/m i8              | VEX.66.0F3A.W0 46 /r ib RVMI   | avx2
vshuff32x4   yz{kz} yz yz/m/b4 i8    | EVEX.66.0F3A.W0 23 /r ib RVMI  | avx512f
vshuff64x2   yz{kz} yz yz/m/b8 i8    | EVEX.66.0F3A.W1 23 /r ib RVMI  | avx512f
vshufi32x4   yz{kz} yz yz/m/b4 i8    | EVEX.66.0F3A.W0 43 /r ib RVMI  | avx512f
vshufi64x2   yz{kz} yz yz/m/b8 i8    | EVEX.66.0F3A.W1 43 /r ib RVMI  | avx512f
vpermps      y y y/m                 | VEX.66.0F38.W0 16 /r RVM       | avx2
vpermps      yz{kz} yz yz/m/b4       | EVEX.66.0F38.W0 16 /r RVM      | avx512f
vpermd       y y y/m                 | VEX.66.0F38.W0 36 /r RVM       | avx2
vpermd       yz{kz} yz yz/m/b4       | EVEX.66.0F38.W0 36 /r RVM      | avx512f
vpermpd      yz{kz} yz yz/m/b8       | EVEX.66.0F38.W1 16 /r RVM      | avx512f
vpermpd      y y/m i8                | VEX.66.0F3A.W1 01 /r ib RMI    | avx2
vpermpd      yz{kz} yz/m/b8 i8       | EVEX.66.0F3A.W1 01 /r ib RMI   | avx512f
vpermq       yz{kz} yz yz/m/b8       | EVEX.66.0F38.W1 36 /r RVM      | avx512f
vpermq       y y/m i8                | VEX.66.0F3A.W1 00 /r ib RMI    | avx2
vpermq       yz{kz} yz/m/b8 i8       | EVEX.66.0F3A.W1 00 /r ib RMI   | avx512f
vpermw       xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 8D /r RVM      | avx512bw
vpermb       xyz{kz} xyz xyz/m       | EVEX.66.0F38.W0 8D /r RVM      | avx512vbmi
vpermi2b     xyz{kz} xyz xyz/m       | EVEX.66.0F38.W0 75 /r RVM      | avx512vbmi
vpermi2w     xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 75 /r RVM      | avx512bw
vpermi2d     xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 76 /r RVM      | avx512f
vpermi2q     xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 76 /r RVM      | avx512f
vpermi2ps    xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 77 /r RVM      | avx512f
vpermi2pd    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 77 /r RVM      | avx512f
vpermt2b     xyz{kz} xyz xyz/m       | EVEX.66.0F38.W0 7D /r RVM      | avx512vbmi
vpermt2w     xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 7D /r RVM      | avx512bw
vpermt2d     xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 7E /r RVM      | avx512f
vpermt2q     xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 7E /r RVM      | avx512f
vpermt2ps    xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 7F /r RVM      | avx512f
vpermt2pd    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 7F /r RVM      | avx512f
valignd      xyz{kz} xyz xyz/m/b4 i8 | EVEX.66.0F3A.W0 03 /r ib RVMI  | avx512f
valignq      xyz{kz} xyz xyz/m/b8 i8 | EVEX.66.0F3A.W1 03 /r ib RVMI  | avx512f
# Expand and compress
vexpandps    xyz{kz} xyz/m@4         | EVEX.66.0F38.W0 88 /r RM       | avx512f
vexpandpd    xyz{kz} xyz/m@8         | EVEX.66.0F38.W1 88 /r RM       | avx512f
vpexpandd    xyz{kz} xyz/m@4         | EVEX.66.0F38.W0 89 /r RM       | avx512f
vpexpandq    xyz{kz} xyz/m@8         | EVEX.66.0F38.W1 89 /r RM       | avx512f
vcompressps  xyz/m@4{kz} xyz         | EVEX.66.0F38.W0 8A /r MR       | avx512f
vcompresspd  xyz/m@8{kz} xyz         | EVEX.66.0F38.W1 8A /r MR       | avx512f
vpcompressd  xyz/m@4{kz} xyz         | EVEX.66.0F38.W0 8B /r MR       | avx512f
vpcompressq  xyz/m@8{kz} xyz         | EVEX.66.0F38.W1 8B /r MR       | avx512f
"""
