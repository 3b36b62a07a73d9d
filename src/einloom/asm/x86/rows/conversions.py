"""Conversions between types and widths. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Between floats
vcvtps2pd    xy xx/mh               | VEX.0F.WIG 5A /r RM          | avx
vcvtps2pd    xyz{kz} xxy/mh/b4{sae} | EVEX.0F.W0 5A /r RM          | avx512f
vcvtpd2ps    xx xy/m                | VEX.66.0F.WIG 5A /r RM       | avx
vcvtpd2ps    xxy{kz} xyz/m/b8{er}   | EVEX.66.0F.W1 5A /r RM       | avx512f
vcvtph2ps    xy xx/mh               | VEX.66.0F38.W0 13 /r RM      | f16c
vcvtph2ps    xyz{kz} xxy/mh{sae}    | EVEX.66.0F38.W0 13 /r RM     | avx512f
vcvtps2ph    xx/mh xy i8            | VEX.66.0F3A.W0 1D /r ib MRI  | f16c
vcvtps2ph    xxy/mh{kz} xyz{sae} i8 | EVEX.66.0F3A.W0 1D /r ib MRI | avx512f
vcvtss2sd    x x x/m32              | VEX.F3.0F.WIG 5A /r RVM      | avx
vcvtss2sd    x{kz} x x/m32{sae}     | EVEX.F3.0F.W0 5A /r RVM      | avx512f
vcvtsd2ss    x x x/m64              | VEX.F2.0F.WIG 5A /r RVM      | avx
vcvtsd2ss    x{kz} x x/m64{er}      | EVEX.F2.0F.W1 5A /r RVM      | avx512f
# Between floats and integers of vectors
vcvtdq2ps    xy xy/m                | VEX.0F.WIG 5B /r RM          | avx
vcvtdq2ps    xyz{kz} xyz/m/b4{er}   | EVEX.0F.W0 5B /r RM          | avx512f
vcvtps2dq    xy xy/m                | VEX.66.0F.WIG 5B /r RM       | avx
vcvtps2dq    xyz{kz} xyz/m/b4{er}   | EVEX.66.0F.W0 5B /r RM       | avx512f
vcvttps2dq   xy xy/m                | VEX.F3.0F.WIG 5B /r RM       | avx
vcvttps2dq   xyz{kz} xyz/m/b4{sae}  | EVEX.F3.0F.W0 5B /r RM       | avx512f
vcvtps2udq   xyz{kz} xyz/m/b4{er}   | EVEX.0F.W0 79 /r RM          | avx512f
vcvttps2udq  xyz{kz} xyz/m/b4{sae}  | EVEX.0F.W0 78 /r RM          | avx512f
vcvtudq2ps   xyz{kz} xyz/m/b4{er}   | EVEX.F2.0F.W0 7A /r RM       | avx512f
vcvtdq2pd    xy xx/mh               | VEX.F3.0F.WIG E6 /r RM       | avx
vcvtdq2pd    xyz{kz} xxy/mh/b4      | EVEX.F3.0F.W0 E6 /r RM       | avx512f
vcvtudq2pd   xyz{kz} xxy/mh/b4      | EVEX.F3.0F.W0 7A /r RM       | avx512f
vcvtpd2dq    xx xy/m                | VEX.F2.0F.WIG E6 /r RM       | avx
vcvtpd2dq    xxy{kz} xyz/m/b8{er}   | EVEX.F2.0F.W1 E6 /r RM       | avx512f
vcvttpd2dq   xx xy/m                | VEX.66.0F.WIG E6 /r RM       | avx
vcvttpd2dq   xxy{kz} xyz/m/b8{sae}  | EVEX.66.0F.W1 E6 /r RM       | avx512f
vcvtpd2udq   xxy{kz} xyz/m/b8{er}   | EVEX.0F.W1 79 /r RM          | avx512f
vcvttpd2udq  xxy{kz} xyz/m/b8{sae}  | EVEX.0F.W1 78 /r RM          | avx512f
vcvtpd2qq    xyz{kz} xyz/m/b8{er}   | EVEX.66.0F.W1 7B /r RM       | avx512dq
vcvtpd2uqq   xyz{kz} xyz/m/b8{er}   | EVEX.66.0F.W1 79 /r RM       | avx512dq
vcvttpd2qq   xyz{kz} xyz/m/b8{sae}  | EVEX.66.0F.W1 7A /r RM       | avx512dq
vcvttpd2uqq  xyz{kz} xyz/m/b8{sae}  | EVEX.66.0F.W1 78 /r RM       | avx512dq
vcvtqq2pd    xyz{kz} xyz/m/b8{er}   | EVEX.F3.0F.W1 E6 /r RM       | avx512dq
vcvtuqq2pd   xyz{kz} xyz/m/b8{er}   | EVEX.F3.0F.W1 7A /r RM       | avx512dq
vcvtps2qq    xyz{kz} xxy/mh/b4{er}  | EVEX.66.0F.W0 7B /r RM       | avx512dq
vcvtps2uqq   xyz{kz} xxy/mh/b4{er}  | EVEX.66.0F.W0 79 /r RM       | avx512dq
vcvttps2qq   xyz{kz} xxy/mh/b4{sae} | EVEX.66.0F.W0 7A /r RM       | avx512dq
vcvttps2uqq  xyz{kz} xxy/mh/b4{sae} | EVEX.66.0F.W0 78 /r RM       | avx512dq
vcvtqq2ps    xxy{kz} xyz/m/b8{er}   | EVEX.0F.W1 5B /r RM          | avx512dq
vcvtuqq2ps   xxy{kz} xyz/m/b8{er}   | EVEX.F2.0F.W1 7A /r RM       | avx512dq
# Between floats and general registers
vcvtsi2ss    x x dq/m               | VEX.F3.0F.W 2A /r RVM        | avx
vcvtsi2ss    x x dq/m{er}           | EVEX.F3.0F.W 2A /r RVM       | avx512f
vcvtsi2sd    x x dq/m               | VEX.F2.0F.W 2A /r RVM        | avx
vcvtsi2sd    x x d/m                | EVEX.F2.0F.W 2A /r RVM       | avx512f
vcvtsi2sd    x x q/m{er}            | EVEX.F2.0F.W 2A /r RVM       | avx512f
vcvtusi2ss   x x dq/m{er}           | EVEX.F3.0F.W 7B /r RVM       | avx512f
vcvtusi2sd   x x d/m                | EVEX.F2.0F.W 7B /r RVM       | avx512f
vcvtusi2sd   x x q/m{er}            | EVEX.F2.0F.W 7B /r RVM       | avx512f
vcvtss2si    dq x/m32               | VEX.F3.0F.W 2D /r RM         | avx
vcvtss2si    dq x/m32{er}           | EVEX.F3.0F.W 2D /r RM        | avx512f
vcvttss2si   dq x/m32               | VEX.F3.0F.W 2C /r RM         | avx
vcvttss2si   dq x/m32{sae}          | EVEX.F3.0F.W 2C /r RM        | avx512f
vcvtss2usi   dq x/m32{er}           | EVEX.F3.0F.W 79 /r RM        | avx512f
vcvttss2usi  dq x/m32{sae}          | EVEX.F3.0F.W 78 /r RM        | avx512f
vcvtsd2si    dq x/m64               | VEX.F2.0F.W 2D /r RM         | avx
vcvtsd2si    dq x/m64{er}           | EVEX.F2.0F.W 2D /r RM        | avx512f
vcvttsd2si   dq x/m64               | VEX.F2.0F.W 2C /r RM         | avx
vcvttsd2si   dq x/m64{sae}          | EVEX.F2.0F.W 2C /r RM        | avx512f
vcvtsd2usi   dq x/m64{er}           | EVEX.F2.0F.W 79 /r RM        | avx512f
vcvttsd2usi  dq x/m64{sae}          | EVEX.F2.0F.W 78 /r RM        | avx512f
# Wider and narrower integers
vpmovsxbw    xy xx/mh               | VEX.66.0F38.WIG 20 /r RM     | avx/avx2
vpmovsxbw    xyz{kz} xxy/mh         | EVEX.66.0F38.WIG 20 /r RM    | avx512bw
vpmovsxbd    xy xx/mq               | VEX.66.0F38.WIG 21 /r RM     | avx/avx2
vpmovsxbd    xyz{kz} xxx/mq         | EVEX.66.0F38.WIG 21 /r RM    | avx512f
vpmovsxbq    xy xx/me               | VEX.66.0F38.WIG 22 /r RM     | avx/avx2
vpmovsxbq    xyz{kz} xxx/me         | EVEX.66.0F38.WIG 22 /r RM    | avx512f
vpmovsxwd    xy xx/mh               | VEX.66.0F38.WIG 23 /r RM     | avx/avx2
vpmovsxwd    xyz{kz} xxy/mh         | EVEX.66.0F38.WIG 23 /r RM    | avx512f
vpmovsxwq    xy xx/mq               | VEX.66.0F38.WIG 24 /r RM     | avx/avx2
vpmovsxwq    xyz{kz} xxx/mq         | EVEX.66.0F38.WIG 24 /r RM    | avx512f
vpmovsxdq    xy xx/mh               | VEX.66.0F38.WIG 25 /r RM     | avx/avx2
vpmovsxdq    xyz{kz} xxy/mh         | EVEX.66.0F38.W0 25 /r RM     | avx512f
vpmovzxbw    xy xx/mh               | VEX.66.0F38.WIG 30 /r RM     | avx/avx2
vpmovzxbw    xyz{kz} xxy/mh         | EVEX.66.0F38.WIG 30 /r RM    | avx512bw
vpmovzxbd    xy xx/mq               | VEX.66.0F38.WIG 31 /r RM     | avx/avx2
vpmovzxbd    xyz{kz} xxx/mq         | EVEX.66.0F38.WIG 31 /r RM    | avx512f
vpmovzxbq    xy xx/me               | VEX.66.0F38.WIG 32 /r RM     | avx/avx2
vpmovzxbq    xyz{kz} xxx/me         | EVEX.66.0F38.WIG 32 /r RM    | avx512f
vpmovzxwd    xy xx/mh               | VEX.66.0F38.WIG 33 /r RM     | avx/avx2
vpmovzxwd    xyz{kz} xxy/mh         | EVEX.66.0F38.WIG 33 /r RM    | avx512f
vpmovzxwq    xy xx/mq               | VEX.66.0F38.WIG 34 /r RM     | avx/avx2
vpmovzxwq    xyz{kz} xxx/mq         | EVEX.66.0F38.WIG 34 /r RM    | avx512f
vpmovzxdq    xy xx/mh               | VEX.66.0F38.WIG 35 /r RM     | avx/avx2
vpmovzxdq    xyz{kz} xxy/mh         | EVEX.66.0F38.W0 35 /r RM     | avx512f
vpmovwb      xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 30 /r MR     | avx512bw
vpmovdb      xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 31 /r MR     | avx512f
vpmovqb      xxx/me{kz} xyz         | EVEX.F3.0F38.W0 32 /r MR     | avx512f
vpmovdw      xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 33 /r MR     | avx512f
vpmovqw      xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 34 /r MR     | avx512f
vpmovqd      xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 35 /r MR     | avx512f
vpmovswb     xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 20 /r MR     | avx512bw
vpmovsdb     xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 21 /r MR     | avx512f
vpmovsqb     xxx/me{kz} xyz         | EVEX.F3.0F38.W0 22 /r MR     | avx512f
vpmovsdw     xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 23 /r MR     | avx512f
vpmovsqw     xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 24 /r MR     | avx512f
vpmovsqd     xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 25 /r MR     | avx512f
vpmovuswb    xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 10 /r MR     | avx512bw
vpmovusdb    xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 11 /r MR     | avx512f
vpmovusqb    xxx/me{kz} xyz         | EVEX.F3.0F38.W0 12 /r MR     | avx512f
vpmovusdw    xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 13 /r MR     | avx512f
vpmovusqw    xxx/mq{kz} xyz         | EVEX.F3.0F38.W0 14 /r MR     | avx512f
vpmovusqd    xxy/mh{kz} xyz         | EVEX.F3.0F38.W0 15 /r MR     | avx512f
vpacksswb    xy xy xy/m             | VEX.66.0F.WIG 63 /r RVM      | avx/avx2
vpacksswb    xyz{kz} xyz xyz/m      | EVEX.66.0F.WIG 63 /r RVM     | avx512bw
vpackuswb    xy xy xy/m             | VEX.66.0F.WIG 67 /r RVM      | avx/avx2
vpackuswb    xyz{kz} xyz xyz/m      | EVEX.66.0F.WIG 67 /r RVM     | avx512bw
vpackssdw    xy xy xy/m             | VEX.66.0F.WIG 6B /r RVM      | avx/avx2
vpackssdw    xyz{kz} xyz xyz/m/b4   | EVEX.66.0F.W0 6B /r RVM      | avx512bw
vpackusdw    xy xy xy/m             | VEX.66.0F38.WIG 2B /r RVM    | avx/avx2
vpackusdw    xyz{kz} xyz xyz/m/b4   | EVEX.66.0F38.W0 2B /r RVM    | avx512bw
"""
