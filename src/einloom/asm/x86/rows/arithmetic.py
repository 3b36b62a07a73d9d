"""Floating-point arithmetic, comparisons, blends of vectors and scalars. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Arithmetic
vaddps       xy xy xy/m                   | VEX.0F.WIG 58 /r RVM           | avx
vaddps       xyz{kz} xyz xyz/m/b4{er}     | EVEX.0F.W0 58 /r RVM           | avx512f
vaddpd       xy xy xy/m                   | VEX.66.0F.WIG 58 /r RVM        | avx
vaddpd       xyz{kz} xyz xyz/m/b8{er}     | EVEX.66.0F.W1 58 /r RVM        | avx512f
vaddss       x x x/m32                    | VEX.F3.0F.WIG 58 /r RVM        | avx
vaddss       x{kz} x x/m32{er}            | EVEX.F3.0F.W0 58 /r RVM        | avx512f
vaddsd       x x x/m64                    | VEX.F2.0F.WIG 58 /r RVM        | avx
vaddsd       x{kz} x x/m64{er}            | EVEX.F2.0F.W1 58 /r RVM        | avx512f
vmulps       xy xy xy/m                   | VEX.0F.WIG 59 /r RVM           | avx
vmulps       xyz{kz} xyz xyz/m/b4{er}     | EVEX.0F.W0 59 /r RVM           | avx512f
vmulpd       xy xy xy/m                   | VEX.66.0F.WIG 59 /r RVM        | avx
vmulpd       xyz{kz} xyz xyz/m/b8{er}     | EVEX.66.0F.W1 59 /r RVM        | avx512f
vmulss       x x x/m32                    | VEX.F3.0F.WIG 59 /r RVM        | avx
vmulss       x{kz} x x/m32{er}            | EVEX.F3.0F.W0 59 /r RVM        | avx512f
vmulsd       x x x/m64                    | VEX.F2.0F.WIG 59 /r RVM        | avx
vmulsd       x{kz} x x/m64{er}            | EVEX.F2.0F.W1 59 /r RVM        | avx512f
vsubps       xy xy xy/m                   | VEX.0F.WIG 5C /r RVM           | avx
vsubps       xyz{kz} xyz xyz/m/b4{er}     | EVEX.0F.W0 5C /r RVM           | avx512f
vsubpd       xy xy xy/m                   | VEX.66.0F.WIG 5C /r RVM        | avx
vsubpd       xyz{kz} xyz xyz/m/b8{er}     | EVEX.66.0F.W1 5C /r RVM        | avx512f
vsubss       x x x/m32                    | VEX.F3.0F.WIG 5C /r RVM        | avx
vsubss       x{kz} x x/m32{er}            | EVEX.F3.0F.W0 5C /r RVM        | avx512f
vsubsd       x x x/m64                    | VEX.F2.0F.WIG 5C /r RVM        | avx
vsubsd       x{kz} x x/m64{er}            | EVEX.F2.0F.W1 5C /r RVM        | avx512f
vminps       xy xy xy/m                   | VEX.0F.WIG 5D /r RVM           | avx
vminps       xyz{kz} xyz xyz/m/b4{sae}    | EVEX.0F.W0 5D /r RVM           | avx512f
vminpd       xy xy xy/m                   | VEX.66.0F.WIG 5D /r RVM        | avx
vminpd       xyz{kz} xyz xyz/m/b8{sae}    | EVEX.66.0F.W1 5D /r RVM        | avx512f
vminss       x x x/m32                    | VEX.F3.0F.WIG 5D /r RVM        | avx
vminss       x{kz} x x/m32{sae}           | EVEX.F3.0F.W0 5D /r RVM        | avx512f
vminsd       x x x/m64                    | VEX.F2.0F.WIG 5D /r RVM        | avx
vminsd       x{kz} x x/m64{sae}           | EVEX.F2.0F.W1 5D /r RVM        | avx512f
vdivps       xy xy xy/m                   | VEX.0F.WIG 5E /r RVM           | avx
vdivps       xyz{kz} xyz xyz/m/b4{er}     | EVEX.0F.W0 5E /r RVM           | avx512f
vdivpd       xy xy xy/m                   | VEX.66.0F.WIG 5E /r RVM        | avx
vdivpd       xyz{kz} xyz xyz/m/b8{er}     | EVEX.66.0F.W1 5E /r RVM        | avx512f
vdivss       x x x/m32                    | VEX.F3.0F.WIG 5E /r RVM        | avx
vdivss       x{kz} x x/m32{er}            | EVEX.F3.0F.W0 5E /r RVM        | avx512f
vdivsd       x x x/m64                    | VEX.F2.0F.WIG 5E /r RVM        | avx
vdivsd       x{kz} x x/m64{er}            | EVEX.F2.0F.W1 5E /r RVM        | avx512f
vmaxps       xy xy xy/m                   | VEX.0F.WIG 5F /r RVM           | avx
vmaxps       xyz{kz} xyz xyz/m/b4{sae}    | EVEX.0F.W0 5F /r RVM           | avx512f
vmaxpd       xy xy xy/m                   | VEX.66.0F.WIG 5F /r RVM        | avx
vmaxpd       xyz{kz} xyz xyz/m/b8{sae}    | EVEX.66.0F.W1 5F /r RVM        | avx512f
vmaxss       x x x/m32                    | VEX.F3.0F.WIG 5F /r RVM        | avx
vmaxss       x{kz} x x/m32{sae}           | EVEX.F3.0F.W0 5F /r RVM        | avx512f
vmaxsd       x x x/m64                    | VEX.F2.0F.WIG 5F /r RVM        | avx
vmaxsd       x{kz} x x/m64{sae}           | EVEX.F2.0F.W1 5F /r RVM        | avx512f
vsqrtps      xy xy/m                      | VEX.0F.WIG 51 /r RM            | avx
vsqrtps      xyz{kz} xyz/m/b4{er}         | EVEX.0F.W0 51 /r RM            | avx512f
vsqrtpd      xy xy/m                      | VEX.66.0F.WIG 51 /r RM         | avx
vsqrtpd      xyz{kz} xyz/m/b8{er}         | EVEX.66.0F.W1 51 /r RM         | avx512f
vsqrtss      x x x/m32                    | VEX.F3.0F.WIG 51 /r RVM        | avx
vsqrtss      x{kz} x x/m32{er}            | EVEX.F3.0F.W0 51 /r RVM        | avx512f
vsqrtsd      x x x/m64                    | VEX.F2.0F.WIG 51 /r RVM        | avx
vsqrtsd      x{kz} x x/m64{er}            | EVEX.F2.0F.W1 51 /r RVM        | avx512f
vhaddps      xy xy xy/m                   | VEX.F2.0F.WIG 7C /r RVM        | avx
vhaddpd      xy xy xy/m                   | VEX.66.0F.WIG 7C /r RVM        | avx
vhsubps      xy xy xy/m                   | VEX.F2.0F.WIG 7D /r RVM        | avx
vhsubpd      xy xy xy/m                   | VEX.66.0F.WIG 7D /r RVM        | avx
vaddsubps    xy xy xy/m                   | VEX.F2.0F.WIG D0 /r RVM        | avx
vaddsubpd    xy xy xy/m                   | VEX.66.0F.WIG D0 /r RVM        | avx
vdpps        xy xy xy/m i8                | VEX.66.0F3A.WIG 40 /r ib RVMI  | avx
vdppd        x x x/m i8                   | VEX.66.0F3A.WIG 41 /r ib RVMI  | avx
# Approximations, exponents, rounding
vrcpps       xy xy/m                      | VEX.0F.WIG 53 /r RM            | avx
vrcpss       x x x/m32                    | VEX.F3.0F.WIG 53 /r RVM        | avx
vrsqrtps     xy xy/m                      | VEX.0F.WIG 52 /r RM            | avx
vrsqrtss     x x x/m32                    | VEX.F3.0F.WIG 52 /r RVM        | avx
vrcp14ps     xyz{kz} xyz/m/b4             | EVEX.66.0F38.W0 4C /r RM       | avx512f
vrcp14pd     xyz{kz} xyz/m/b8             | EVEX.66.0F38.W1 4C /r RM       | avx512f
vrcp14ss     x{kz} x x/m32                | EVEX.66.0F38.W0 4D /r RVM      | avx512f
vrcp14sd     x{kz} x x/m64                | EVEX.66.0F38.W1 4D /r RVM      | avx512f
vrsqrt14ps   xyz{kz} xyz/m/b4             | EVEX.66.0F38.W0 4E /r RM       | avx512f
vrsqrt14pd   xyz{kz} xyz/m/b8             | EVEX.66.0F38.W1 4E /r RM       | avx512f
vrsqrt14ss   x{kz} x x/m32                | EVEX.66.0F38.W0 4F /r RVM      | avx512f
vrsqrt14sd   x{kz} x x/m64                | EVEX.66.0F38.W1 4F /r RVM      | avx512f
vgetexpps    xyz{kz} xyz/m/b4{sae}        | EVEX.66.0F38.W0 42 /r RM       | avx512f
vgetexppd    xyz{kz} xyz/m/b8{sae}        | EVEX.66.0F38.W1 42 /r RM       | avx512f
vgetexpss    x{kz} x x/m32{sae}           | EVEX.66.0F38.W0 43 /r RVM      | avx512f
vgetexpsd    x{kz} x x/m64{sae}           | EVEX.66.0F38.W1 43 /r RVM      | avx512f
vgetmantps   xyz{kz} xyz/m/b4{sae} i8     | EVEX.66.0F3A.W0 26 /r ib RMI   | avx512f
vgetmantpd   xyz{kz} xyz/m/b8{sae} i8     | EVEX.66.0F3A.W1 26 /r ib RMI   | avx512f
vgetmantss   x{kz} x x/m32{sae} i8        | EVEX.66.0F3A.W0 27 /r ib RVMI  | avx512f
vgetmantsd   x{kz} x x/m64{sae} i8        | EVEX.66.0F3A.W1 27 /r ib RVMI  | avx512f
vscalefps    xyz{kz} xyz xyz/m/b4{er}     | EVEX.66.0F38.W0 2C /r RVM      | avx512f
vscalefpd    xyz{kz} xyz xyz/m/b8{er}     | EVEX.66.0F38.W1 2C /r RVM      | avx512f
vscalefss    x{kz} x x/m32{er}            | EVEX.66.0F38.W0 2D /r RVM      | avx512f
vscalefsd    x{kz} x x/m64{er}            | EVEX.66.0F38.W1 2D /r RVM      | avx512f
vrangeps     xyz{kz} xyz xyz/m/b4{sae} i8 | EVEX.66.0F3A.W0 50 /r ib RVMI  | avx512dq
vrangepd     xyz{kz} xyz xyz/m/b8{sae} i8 | EVEX.66.0F3A.W1 50 /r ib RVMI  | avx512dq
vrangess     x{kz} x x/m32{sae} i8        | EVEX.66.0F3A.W0 51 /r ib RVMI  | avx512dq
vrangesd     x{kz} x x/m64{sae} i8        | EVEX.66.0F3A.W1 51 /r ib RVMI  | avx512dq
vfixupimmps  xyz{kz} xyz xyz/m/b4{sae} i8 | EVEX.66.0F3A.W0 54 /r ib RVMI  | avx512f
vfixupimmpd  xyz{kz} xyz xyz/m/b8{sae} i8 | EVEX.66.0F3A.W1 54 /r ib RVMI  | avx512f
vfixupimmss  x{kz} x x/m32{sae} i8        | EVEX.66.0F3A.W0 55 /r ib RVMI  | avx512f
vfixupimmsd  x{kz} x x/m64{sae} i8        | EVEX.66.0F3A.W1 55 /r ib RVMI  | avx512f
vreduceps    xyz{kz} xyz/m/b4{sae} i8     | EVEX.66.0F3A.W0 56 /r ib RMI   | avx512dq
vreducepd    xyz{kz} xyz/m/b8{sae} i8     | EVEX.66.0F3A.W1 56 /r ib RMI   | avx512dq
vreducess    x{kz} x x/m32{sae} i8        | EVEX.66.0F3A.W0 57 /r ib RVMI  | avx512dq
vreducesd    x{kz} x x/m64{sae} i8        | EVEX.66.0F3A.W1 57 /r ib RVMI  | avx512dq
vroundps     xy xy/m i8                   | VEX.66.0F3A.WIG 08 /r ib RMI   | avx
vrndscaleps  xyz{kz} xyz/m/b4{sae} i8     | EVEX.66.0F3A.W0 08 /r ib RMI   | avx512f
vroundpd     xy xy/m i8                   | VEX.66.0F3A.WIG 09 /r ib RMI   | avx
vrndscalepd  xyz{kz} xyz/m/b8{sae} i8     | EVEX.66.0F3A.W1 09 /r ib RMI   | avx512f
vroundss     x x x/m32 i8                 | VEX.66.0F3A.WIG 0A /r ib RVMI  | avx
vrndscaless  x{kz} x x/m32{sae} i8        | EVEX.66.0F3A.W0 0A /r ib RVMI  | avx512f
vroundsd     x x x/m64 i8                 | VEX.66.0F3A.WIG 0B /r ib RVMI  | avx
vrndscalesd  x{kz} x x/m64{sae} i8        | EVEX.66.0F3A.W1 0B /r ib RVMI  | avx512f
# Logic, comparisons, blends
vandps       xy xy xy/m                   | VEX.0F.WIG 54 /r RVM           | avx
vandps       xyz{kz} xyz xyz/m/b4         | EVEX.0F.W0 54 /r RVM           | avx512dq
vandpd       xy xy xy/m                   | VEX.66.0F.WIG 54 /r RVM        | avx
vandpd       xyz{kz} xyz xyz/m/b8         | EVEX.66.0F.W1 54 /r RVM        | avx512dq
vandnps      xy xy xy/m                   | VEX.0F.WIG 55 /r RVM           | avx
vandnps      xyz{kz} xyz xyz/m/b4         | EVEX.0F.W0 55 /r RVM           | avx512dq
vandnpd      xy xy xy/m                   | VEX.66.0F.WIG 55 /r RVM        | avx
vandnpd      xyz{kz} xyz xyz/m/b8         | EVEX.66.0F.W1 55 /r RVM        | avx512dq
vorps        xy xy xy/m                   | VEX.0F.WIG 56 /r RVM           | avx
vorps        xyz{kz} xyz xyz/m/b4         | EVEX.0F.W0 56 /r RVM           | avx512dq
vorpd        xy xy xy/m                   | VEX.66.0F.WIG 56 /r RVM        | avx
vorpd        xyz{kz} xyz xyz/m/b8         | EVEX.66.0F.W1 56 /r RVM        | avx512dq
vxorps       xy xy xy/m                   | VEX.0F.WIG 57 /r RVM           | avx
vxorps       xyz{kz} xyz xyz/m/b4         | EVEX.0F.W0 57 /r RVM           | avx512dq
vxorpd       xy xy xy/m                   | VEX.66.0F.WIG 57 /r RVM        | avx
vxorpd       xyz{kz} xyz xyz/m/b8         | EVEX.66.0F.W1 57 /r RVM        | avx512dq
vcmpps       xy xy xy/m i8                | VEX.0F.WIG C2 /r ib RVMI       | avx
vcmpps       k{k} xyz xyz/m/b4{sae} i8    | EVEX.0F.W0 C2 /r ib RVMI       | avx512f
vcmppd       xy xy xy/m i8                | VEX.66.0F.WIG C2 /r ib RVMI    | avx
vcmppd       k{k} xyz xyz/m/b8{sae} i8    | EVEX.66.0F.W1 C2 /r ib RVMI    | avx512f
vcmpss       x x x/m32 i8                 | VEX.F3.0F.WIG C2 /r ib RVMI    | avx
vcmpss       k{k} x x/m32{sae} i8         | EVEX.F3.0F.W0 C2 /r ib RVMI    | avx512f
vcmpsd       x x x/m64 i8                 | VEX.F2.0F.WIG C2 /r ib RVMI    | avx
vcmpsd       k{k} x x/m64{sae} i8         | EVEX.F2.0F.W1 C2 /r ib RVMI    | avx512f
vucomiss     x x/m32                      | VEX.0F.WIG 2E /r RM            | avx
vucomiss     x x/m32{sae}                 | EVEX.0F.W0 2E /r RM            | avx512f
vucomisd     x x/m64                      | VEX.66.0F.WIG 2E /r RM         | avx
vucomisd     x x/m64{sae}                 | EVEX.66.0F.W1 2E /r RM         | avx512f
vcomiss      x x/m32                      | VEX.0F.WIG 2F /r RM            | avx
vcomiss      x x/m32{sae}                 | EVEX.0F.W0 2F /r RM            | avx512f
vcomisd      x x/m64                      | VEX.66.0F.WIG 2F /r RM         | avx
vcomisd      x x/m64{sae}                 | EVEX.66.0F.W1 2F /r RM         | avx512f
vfpclassps   k{k} xyz/m/b4 i8             | EVEX.66.0F3A.W0 66 /r ib RMI   | avx512dq
vfpclasspd   k{k} xyz/m/b8 i8             | EVEX.66.0F3A.W1 66 /r ib RMI   | avx512dq
vfpclassss   k{k} x/m32 i8                | EVEX.66.0F3A.W0 67 /r ib RMI   | avx512dq
vfpclasssd   k{k} x/m64 i8                | EVEX.66.0F3A.W1 67 /r ib RMI   | avx512dq
vtestps      xy xy/m                      | VEX.66.0F38.W0 0E /r RM        | avx
vtestpd      xy xy/m                      | VEX.66.0F38.W0 0F /r RM        | avx
vblendps     xy xy xy/m i8                | VEX.66.0F3A.WIG 0C /r ib RVMI  | avx
vblendpd     xy xy xy/m i8                | VEX.66.0F3A.WIG 0D /r ib RVMI  | avx
vblendvps    xy xy xy/m xy                | VEX.66.0F3A.W0 4A /r /is4 RVMS | avx
vblendvpd    xy xy xy/m xy                | VEX.66.0F3A.W0 4B /r /is4 RVMS | avx
vblendmps    xyz{kz} xyz xyz/m/b4         | EVEX.66.0F38.W0 65 /r RVM      | avx512f
vblendmpd    xyz{kz} xyz xyz/m/b8         | EVEX.66.0F38.W1 65 /r RVM      | avx512f
"""
