"""Vector moves, broadcasts, inserts and extracts. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Whole vectors
vmovups          xy xy/m             | VEX.0F.WIG 10 /r RM           | avx
vmovups          xy/m xy             | VEX.0F.WIG 11 /r MR           | avx
vmovups          xyz{kz} xyz/m       | EVEX.0F.W0 10 /r RM           | avx512f
vmovups          xyz/m{kz} xyz       | EVEX.0F.W0 11 /r MR           | avx512f
vmovupd          xy xy/m             | VEX.66.0F.WIG 10 /r RM        | avx
vmovupd          xy/m xy             | VEX.66.0F.WIG 11 /r MR        | avx
vmovupd          xyz{kz} xyz/m       | EVEX.66.0F.W1 10 /r RM        | avx512f
vmovupd          xyz/m{kz} xyz       | EVEX.66.0F.W1 11 /r MR        | avx512f
vmovaps          xy xy/m             | VEX.0F.WIG 28 /r RM           | avx
vmovaps          xy/m xy             | VEX.0F.WIG 29 /r MR           | avx
vmovaps          xyz{kz} xyz/m       | EVEX.0F.W0 28 /r RM           | avx512f
vmovaps          xyz/m{kz} xyz       | EVEX.0F.W0 29 /r MR           | avx512f
vmovapd          xy xy/m             | VEX.66.0F.WIG 28 /r RM        | avx
vmovapd          xy/m xy             | VEX.66.0F.WIG 29 /r MR        | avx
vmovapd          xyz{kz} xyz/m       | EVEX.66.0F.W1 28 /r RM        | avx512f
vmovapd          xyz/m{kz} xyz       | EVEX.66.0F.W1 29 /r MR        | avx512f
vmovdqu          xy xy/m             | VEX.F3.0F.WIG 6F /r RM        | avx
vmovdqu          xy/m xy             | VEX.F3.0F.WIG 7F /r MR        | avx
vmovdqa          xy xy/m             | VEX.66.0F.WIG 6F /r RM        | avx
vmovdqa          xy/m xy             | VEX.66.0F.WIG 7F /r MR        | avx
vmovdqu8         xyz{kz} xyz/m       | EVEX.F2.0F.W0 6F /r RM        | avx512bw
vmovdqu8         xyz/m{kz} xyz       | EVEX.F2.0F.W0 7F /r MR        | avx512bw
vmovdqu16        xyz{kz} xyz/m       | EVEX.F2.0F.W1 6F /r RM        | avx512bw
vmovdqu16        xyz/m{kz} xyz       | EVEX.F2.0F.W1 7F /r MR        | avx512bw
vmovdqu32        xyz{kz} xyz/m       | EVEX.F3.0F.W0 6F /r RM        | avx512f
vmovdqu32        xyz/m{kz} xyz       | EVEX.F3.0F.W0 7F /r MR        | avx512f
vmovdqu64        xyz{kz} xyz/m       | EVEX.F3.0F.W1 6F /r RM        | avx512f
vmovdqu64        xyz/m{kz} xyz       | EVEX.F3.0F.W1 7F /r MR        | avx512f
vmovdqa32        xyz{kz} xyz/m       | EVEX.66.0F.W0 6F /r RM        | avx512f
vmovdqa32        xyz/m{kz} xyz       | EVEX.66.0F.W0 7F /r MR        | avx512f
vmovdqa64        xyz{kz} xyz/m       | EVEX.66.0F.W1 6F /r RM        | avx512f
vmovdqa64        xyz/m{kz} xyz       | EVEX.66.0F.W1 7F /r MR        | avx512f
vmovntps         m xy                | VEX.0F.WIG 2B /r MR           | avx
vmovntps         m xyz               | EVEX.0F.W0 2B /r MR           | avx512f
vmovntpd         m xy                | VEX.66.0F.WIG 2B /r MR        | avx
vmovntpd         m xyz               | EVEX.66.0F.W1 2B /r MR        | avx512f
vmovntdq         m xy                | VEX.66.0F.WIG E7 /r MR        | avx
vmovntdq         m xyz               | EVEX.66.0F.W0 E7 /r MR        | avx512f
vmovntdqa        xy m                | VEX.66.0F38.WIG 2A /r RM      | avx/avx2
vmovntdqa        xyz m               | EVEX.66.0F38.W0 2A /r RM      | avx512f
vlddqu           xy m                | VEX.F2.0F.WIG F0 /r RM        | avx
vmaskmovps       xy xy m             | VEX.66.0F38.W0 2C /r RVM      | avx
vmaskmovps       m xy xy             | VEX.66.0F38.W0 2E /r MVR      | avx
vmaskmovpd       xy xy m             | VEX.66.0F38.W0 2D /r RVM      | avx
vmaskmovpd       m xy xy             | VEX.66.0F38.W0 2F /r MVR      | avx
vpmaskmovd       xy xy m             | VEX.66.0F38.W0 8C /r RVM      | avx2
vpmaskmovd       m xy xy             | VEX.66.0F38.W0 8E /r MVR      | avx2
vpmaskmovq       xy xy m             | VEX.66.0F38.W1 8C /r RVM      | avx2
vpmaskmovq       m xy xy             | VEX.66.0F38.W1 8E /r MVR      | avx2
# Single elements
vmovss           x m32               | VEX.F3.0F.WIG 10 /r RM        | avx
vmovss           x{kz} m32           | EVEX.F3.0F.W0 10 /r RM        | avx512f
vmovss           m32 x               | VEX.F3.0F.WIG 11 /r MR        | avx
vmovss           m32{k} x            | EVEX.F3.0F.W0 11 /r MR        | avx512f
vmovss           x x x               | VEX.F3.0F.WIG 10 /r RVM       | avx
vmovss           x{kz} x x           | EVEX.F3.0F.W0 10 /r RVM       | avx512f
vmovsd           x m64               | VEX.F2.0F.WIG 10 /r RM        | avx
vmovsd           x{kz} m64           | EVEX.F2.0F.W1 10 /r RM        | avx512f
vmovsd           m64 x               | VEX.F2.0F.WIG 11 /r MR        | avx
vmovsd           m64{k} x            | EVEX.F2.0F.W1 11 /r MR        | avx512f
vmovsd           x x x               | VEX.F2.0F.WIG 10 /r RVM       | avx
vmovsd           x{kz} x x           | EVEX.F2.0F.W1 10 /r RVM       | avx512f
vmovd            x d/m               | VEX.66.0F.W0 6E /r RM         | avx
vmovd            x d/m               | EVEX.66.0F.W0 6E /r RM        | avx512f
vmovd            d/m x               | VEX.66.0F.W0 7E /r MR         | avx
vmovd            d/m x               | EVEX.66.0F.W0 7E /r MR        | avx512f
vmovq            x x/m64             | VEX.F3.0F.WIG 7E /r RM        | avx
vmovq            x x/m64             | EVEX.F3.0F.W1 7E /r RM        | avx512f
vmovq            x/m64 x             | VEX.66.0F.WIG D6 /r MR        | avx
vmovq            x/m64 x             | EVEX.66.0F.W1 D6 /r MR        | avx512f
vmovq            x q/m               | VEX.66.0F.W1 6E /r RM         | avx
vmovq            x q/m               | EVEX.66.0F.W1 6E /r RM        | avx512f
vmovq            q/m x               | VEX.66.0F.W1 7E /r MR         | avx
vmovq            q/m x               | EVEX.66.0F.W1 7E /r MR        | avx512f
vmovlps          x x m64             | VEX.0F.WIG 12 /r RVM          | avx
vmovlps          x x m64             | EVEX.0F.W0 12 /r RVM          | avx512f
vmovlps          m64 x               | VEX.0F.WIG 13 /r MR           | avx
vmovlps          m64 x               | EVEX.0F.W0 13 /r MR           | avx512f
vmovhps          x x m64             | VEX.0F.WIG 16 /r RVM          | avx
vmovhps          x x m64             | EVEX.0F.W0 16 /r RVM          | avx512f
vmovhps          m64 x               | VEX.0F.WIG 17 /r MR           | avx
vmovhps          m64 x               | EVEX.0F.W0 17 /r MR           | avx512f
vmovlpd          x x m64             | VEX.66.0F.WIG 12 /r RVM       | avx
vmovlpd          x x m64             | EVEX.66.0F.W1 12 /r RVM       | avx512f
vmovlpd          m64 x               | VEX.66.0F.WIG 13 /r MR        | avx
vmovlpd          m64 x               | EVEX.66.0F.W1 13 /r MR        | avx512f
vmovhpd          x x m64             | VEX.66.0F.WIG 16 /r RVM       | avx
vmovhpd          x x m64             | EVEX.66.0F.W1 16 /r RVM       | avx512f
vmovhpd          m64 x               | VEX.66.0F.WIG 17 /r MR        | avx
vmovhpd          m64 x               | EVEX.66.0F.W1 17 /r MR        | avx512f
vmovhlps         x x x               | VEX.0F.WIG 12 /r RVM          | avx
vmovhlps         x x x               | EVEX.0F.W0 12 /r RVM          | avx512f
vmovlhps         x x x               | VEX.0F.WIG 16 /r RVM          | avx
vmovlhps         x x x               | EVEX.0F.W0 16 /r RVM          | avx512f
vpextrb          d/m8 x i8           | VEX.66.0F3A.W0 14 /r ib MRI   | avx
vpextrb          d/m8 x i8           | EVEX.66.0F3A.W0 14 /r ib MRI  | avx512bw
vpextrw          d/m16 x i8          | VEX.66.0F3A.W0 15 /r ib MRI   | avx
vpextrw          d/m16 x i8          | EVEX.66.0F3A.W0 15 /r ib MRI  | avx512bw
vpextrd          d/m x i8            | VEX.66.0F3A.W0 16 /r ib MRI   | avx
vpextrd          d/m x i8            | EVEX.66.0F3A.W0 16 /r ib MRI  | avx512dq
vpextrq          q/m x i8            | VEX.66.0F3A.W1 16 /r ib MRI   | avx
vpextrq          q/m x i8            | EVEX.66.0F3A.W1 16 /r ib MRI  | avx512dq
vpinsrb          x x d/m8 i8         | VEX.66.0F3A.W0 20 /r ib RVMI  | avx
vpinsrb          x x d/m8 i8         | EVEX.66.0F3A.W0 20 /r ib RVMI | avx512bw
vpinsrw          x x d/m16 i8        | VEX.66.0F.W0 C4 /r ib RVMI    | avx
vpinsrw          x x d/m16 i8        | EVEX.66.0F.W0 C4 /r ib RVMI   | avx512bw
vpinsrd          x x d/m i8          | VEX.66.0F3A.W0 22 /r ib RVMI  | avx
vpinsrd          x x d/m i8          | EVEX.66.0F3A.W0 22 /r ib RVMI | avx512dq
vpinsrq          x x q/m i8          | VEX.66.0F3A.W1 22 /r ib RVMI  | avx
vpinsrq          x x q/m i8          | EVEX.66.0F3A.W1 22 /r ib RVMI | avx512dq
vextractps       d/m x i8            | VEX.66.0F3A.WIG 17 /r ib MRI  | avx
vextractps       d/m x i8            | EVEX.66.0F3A.W0 17 /r ib MRI  | avx512f
vinsertps        x x x/m32 i8        | VEX.66.0F3A.WIG 21 /r ib RVMI | avx
vinsertps        x x x/m32 i8        | EVEX.66.0F3A.W0 21 /r ib RVMI | avx512f
vmovmskps        d xy                | VEX.0F.WIG 50 /r RM           | avx
vmovmskpd        d xy                | VEX.66.0F.WIG 50 /r RM        | avx
vpmovmskb        d xy                | VEX.66.0F.WIG D7 /r RM        | avx/avx2
# Broadcasts
vbroadcastss     xy m32              | VEX.66.0F38.W0 18 /r RM       | avx
vbroadcastss     xy x                | VEX.66.0F38.W0 18 /r RM       | avx2
vbroadcastsd     y m64               | VEX.66.0F38.W0 19 /r RM       | avx
vbroadcastsd     y x                 | VEX.66.0F38.W0 19 /r RM       | avx2
vbroadcastf128   y m128              | VEX.66.0F38.W0 1A /r RM       | avx
vbroadcasti128   y m128              | VEX.66.0F38.W0 5A /r RM       | avx2
vbroadcastss     xyz{kz} x/m32       | EVEX.66.0F38.W0 18 /r RM      | avx512f
vbroadcastsd     yz{kz} x/m64        | EVEX.66.0F38.W1 19 /r RM      | avx512f
vbroadcastf32x2  yz{kz} x/m64        | EVEX.66.0F38.W0 19 /r RM      | avx512dq
vbroadcastf32x4  yz{kz} m128         | EVEX.66.0F38.W0 1A /r RM      | avx512f
vbroadcastf64x2  yz{kz} m128         | EVEX.66.0F38.W1 1A /r RM      | avx512dq
vbroadcastf32x8  z{kz} m256          | EVEX.66.0F38.W0 1B /r RM      | avx512dq
vbroadcastf64x4  z{kz} m256          | EVEX.66.0F38.W1 1B /r RM      | avx512f
vbroadcasti32x2  xyz{kz} x/m64       | EVEX.66.0F38.W0 59 /r RM      | avx512dq
vbroadcasti32x4  yz{kz} m128         | EVEX.66.0F38.W0 5A /r RM      | avx512f
vbroadcasti64x2  yz{kz} m128         | EVEX.66.0F38.W1 5A /r RM      | avx512dq
vbroadcasti32x8  z{kz} m256          | EVEX.66.0F38.W0 5B /r RM      | avx512dq
vbroadcasti64x4  z{kz} m256          | EVEX.66.0F38.W1 5B /r RM      | avx512f
vpbroadcastb     xy x/m8             | VEX.66.0F38.W0 78 /r RM       | avx2
vpbroadcastb     xyz{kz} x/m8        | EVEX.66.0F38.W0 78 /r RM      | avx512bw
vpbroadcastw     xy x/m16            | VEX.66.0F38.W0 79 /r RM       | avx2
vpbroadcastw     xyz{kz} x/m16       | EVEX.66.0F38.W0 79 /r RM      | avx512bw
vpbroadcastd     xy x/m32            | VEX.66.0F38.W0 58 /r RM       | avx2
vpbroadcastd     xyz{kz} x/m32       | EVEX.66.0F38.W0 58 /r RM      | avx512f
vpbroadcastq     xy x/m64            | VEX.66.0F38.W0 59 /r RM       | avx2
vpbroadcastq     xyz{kz} x/m64       | EVEX.66.0F38.W1 59 /r RM      | avx512f
vpbroadcastb     xyz{kz} d           | EVEX.66.0F38.W0 7A /r RM      | avx512bw
vpbroadcastw     xyz{kz} d           | EVEX.66.0F38.W0 7B /r RM      | avx512bw
vpbroadcastd     xyz{kz} d           | EVEX.66.0F38.W0 7C /r RM      | avx512f
vpbroadcastq     xyz{kz} q           | EVEX.66.0F38.W1 7C /r RM      | avx512f
# Insert and extract
vinsertf128      y y x/m128 i8       | VEX.66.0F3A.W0 18 /r ib RVMI  | avx
vextractf128     x/m128 y i8         | VEX.66.0F3A.W0 19 /r ib MRI   | avx
vinsertf32x4     yz{kz} yz x/m128 i8 | EVEX.66.0F3A.W0 18 /r ib RVMI | avx512f
vextractf32x4    x/m128{kz} yz i8    | EVEX.66.0F3A.W0 19 /r ib MRI  | avx512f
vinsertf64x2     yz{kz} yz x/m128 i8 | EVEX.66.0F3A.W1 18 /r ib RVMI | avx512dq
vextractf64x2    x/m128{kz} yz i8    | EVEX.66.0F3A.W1 19 /r ib MRI  | avx512dq
vinsertf32x8     z{kz} z y/m256 i8   | EVEX.66.0F3A.W0 1A /r ib RVMI | avx512dq
vextractf32x8    y/m256{kz} z i8     | EVEX.66.0F3A.W0 1B /r ib MRI  | avx512dq
vinsertf64x4     z{kz} z y/m256 i8   | EVEX.66.0F3A.W1 1A /r ib RVMI | avx512f
vextractf64x4    y/m256{kz} z i8     | EVEX.66.0F3A.W1 1B /r ib MRI  | avx512f
vinserti128      y y x/m128 i8       | VEX.66.0F3A.W0 38 /r ib RVMI  | avx2
vextracti128     x/m128 y i8         | VEX.66.0F3A.W0 39 /r ib MRI   | avx2
vinserti32x4     yz{kz} yz x/m128 i8 | EVEX.66.0F3A.W0 38 /r ib RVMI | avx512f
vextracti32x4    x/m128{kz} yz i8    | EVEX.66.0F3A.W0 39 /r ib MRI  | avx512f
vinserti64x2     yz{kz} yz x/m128 i8 | EVEX.66.0F3A.W1 38 /r ib RVMI | avx512dq
vextracti64x2    x/m128{kz} yz i8    | EVEX.66.0F3A.W1 39 /r ib MRI  | avx512dq
vinserti32x8     z{kz} z y/m256 i8   | EVEX.66.0F3A.W0 3A /r ib RVMI | avx512dq
vextracti32x8    y/m256{kz} z i8     | EVEX.66.0F3A.W0 3B /r ib MRI  | avx512dq
vinserti64x4     z{kz} z y/m256 i8   | EVEX.66.0F3A.W1 3A /r ib RVMI | avx512f
vextracti64x4    y/m256{kz} z i8     | EVEX.66.0F3A.W1 3B /r ib MRI  | avx512f
"""
