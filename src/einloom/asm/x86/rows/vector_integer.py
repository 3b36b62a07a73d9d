"""Integer vectors: arithmetic, logic, shifts, comparisons. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Arithmetic
vpaddb       xy xy xy/m              | VEX.66.0F.WIG FC /r RVM        | avx/avx2
vpaddb       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG FC /r RVM       | avx512bw
vpaddw       xy xy xy/m              | VEX.66.0F.WIG FD /r RVM        | avx/avx2
vpaddw       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG FD /r RVM       | avx512bw
vpaddd       xy xy xy/m              | VEX.66.0F.WIG FE /r RVM        | avx/avx2
vpaddd       xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 FE /r RVM        | avx512f
vpaddq       xy xy xy/m              | VEX.66.0F.WIG D4 /r RVM        | avx/avx2
vpaddq       xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 D4 /r RVM        | avx512f
vpsubb       xy xy xy/m              | VEX.66.0F.WIG F8 /r RVM        | avx/avx2
vpsubb       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG F8 /r RVM       | avx512bw
vpsubw       xy xy xy/m              | VEX.66.0F.WIG F9 /r RVM        | avx/avx2
vpsubw       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG F9 /r RVM       | avx512bw
vpsubd       xy xy xy/m              | VEX.66.0F.WIG FA /r RVM        | avx/avx2
vpsubd       xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 FA /r RVM        | avx512f
vpsubq       xy xy xy/m              | VEX.66.0F.WIG FB /r RVM        | avx/avx2
vpsubq       xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 FB /r RVM        | avx512f
vpaddsb      xy xy xy/m              | VEX.66.0F.WIG EC /r RVM        | avx/avx2
vpaddsb      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG EC /r RVM       | avx512bw
vpaddsw      xy xy xy/m              | VEX.66.0F.WIG ED /r RVM        | avx/avx2
vpaddsw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG ED /r RVM       | avx512bw
vpaddusb     xy xy xy/m              | VEX.66.0F.WIG DC /r RVM        | avx/avx2
vpaddusb     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG DC /r RVM       | avx512bw
vpaddusw     xy xy xy/m              | VEX.66.0F.WIG DD /r RVM        | avx/avx2
vpaddusw     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG DD /r RVM       | avx512bw
vpsubsb      xy xy xy/m              | VEX.66.0F.WIG E8 /r RVM        | avx/avx2
vpsubsb      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E8 /r RVM       | avx512bw
vpsubsw      xy xy xy/m              | VEX.66.0F.WIG E9 /r RVM        | avx/avx2
vpsubsw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E9 /r RVM       | avx512bw
vpsubusb     xy xy xy/m              | VEX.66.0F.WIG D8 /r RVM        | avx/avx2
vpsubusb     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG D8 /r RVM       | avx512bw
vpsubusw     xy xy xy/m              | VEX.66.0F.WIG D9 /r RVM        | avx/avx2
vpsubusw     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG D9 /r RVM       | avx512bw
vpmullw      xy xy xy/m              | VEX.66.0F.WIG D5 /r RVM        | avx/avx2
vpmullw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG D5 /r RVM       | avx512bw
vpmulhw      xy xy xy/m              | VEX.66.0F.WIG E5 /r RVM        | avx/avx2
vpmulhw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E5 /r RVM       | avx512bw
vpmulhuw     xy xy xy/m              | VEX.66.0F.WIG E4 /r RVM        | avx/avx2
vpmulhuw     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E4 /r RVM       | avx512bw
vpavgb       xy xy xy/m              | VEX.66.0F.WIG E0 /r RVM        | avx/avx2
vpavgb       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E0 /r RVM       | avx512bw
vpavgw       xy xy xy/m              | VEX.66.0F.WIG E3 /r RVM        | avx/avx2
vpavgw       xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG E3 /r RVM       | avx512bw
vpmaddwd     xy xy xy/m              | VEX.66.0F.WIG F5 /r RVM        | avx/avx2
vpmaddwd     xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG F5 /r RVM       | avx512bw
vpmulhrsw    xy xy xy/m              | VEX.66.0F38.WIG 0B /r RVM      | avx/avx2
vpmulhrsw    xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 0B /r RVM     | avx512bw
vpmaddubsw   xy xy xy/m              | VEX.66.0F38.WIG 04 /r RVM      | avx/avx2
vpmaddubsw   xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 04 /r RVM     | avx512bw
vpmulld      xy xy xy/m              | VEX.66.0F38.WIG 40 /r RVM      | avx/avx2
vpmulld      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 40 /r RVM      | avx512f
vpmullq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 40 /r RVM      | avx512dq
vpmuludq     xy xy xy/m              | VEX.66.0F.WIG F4 /r RVM        | avx/avx2
vpmuludq     xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 F4 /r RVM        | avx512f
vpmuldq      xy xy xy/m              | VEX.66.0F38.WIG 28 /r RVM      | avx/avx2
vpmuldq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 28 /r RVM      | avx512f
vpsadbw      xy xy xy/m              | VEX.66.0F.WIG F6 /r RVM        | avx/avx2
vpsadbw      xyz xyz xyz/m           | EVEX.66.0F.WIG F6 /r RVM       | avx512bw
vpminsb      xy xy xy/m              | VEX.66.0F38.WIG 38 /r RVM      | avx/avx2
vpminsb      xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 38 /r RVM     | avx512bw
vpminsw      xy xy xy/m              | VEX.66.0F.WIG EA /r RVM        | avx/avx2
vpminsw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG EA /r RVM       | avx512bw
vpminsd      xy xy xy/m              | VEX.66.0F38.WIG 39 /r RVM      | avx/avx2
vpminsd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 39 /r RVM      | avx512f
vpminsq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 39 /r RVM      | avx512f
vpminub      xy xy xy/m              | VEX.66.0F.WIG DA /r RVM        | avx/avx2
vpminub      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG DA /r RVM       | avx512bw
vpminuw      xy xy xy/m              | VEX.66.0F38.WIG 3A /r RVM      | avx/avx2
vpminuw      xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 3A /r RVM     | avx512bw
vpminud      xy xy xy/m              | VEX.66.0F38.WIG 3B /r RVM      | avx/avx2
vpminud      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 3B /r RVM      | avx512f
vpminuq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 3B /r RVM      | avx512f
vpmaxsb      xy xy xy/m              | VEX.66.0F38.WIG 3C /r RVM      | avx/avx2
vpmaxsb      xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 3C /r RVM     | avx512bw
vpmaxsw      xy xy xy/m              | VEX.66.0F.WIG EE /r RVM        | avx/avx2
vpmaxsw      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG EE /r RVM       | avx512bw
vpmaxsd      xy xy xy/m              | VEX.66.0F38.WIG 3D /r RVM      | avx/avx2
vpmaxsd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 3D /r RVM      | avx512f
vpmaxsq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 3D /r RVM      | avx512f
vpmaxub      xy xy xy/m              | VEX.66.0F.WIG DE /r RVM        | avx/avx2
vpmaxub      xyz{kz} xyz xyz/m       | EVEX.66.0F.WIG DE /r RVM       | avx512bw
vpmaxuw      xy xy xy/m              | VEX.66.0F38.WIG 3E /r RVM      | avx/avx2
vpmaxuw      xyz{kz} xyz xyz/m       | EVEX.66.0F38.WIG 3E /r RVM     | avx512bw
vpmaxud      xy xy xy/m              | VEX.66.0F38.WIG 3F /r RVM      | avx/avx2
vpmaxud      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 3F /r RVM      | avx512f
vpmaxuq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 3F /r RVM      | avx512f
vpabsb       xy xy/m                 | VEX.66.0F38.WIG 1C /r RM       | avx/avx2
vpabsb       xyz{kz} xyz/m           | EVEX.66.0F38.WIG 1C /r RM      | avx512bw
vpabsw       xy xy/m                 | VEX.66.0F38.WIG 1D /r RM       | avx/avx2
vpabsw       xyz{kz} xyz/m           | EVEX.66.0F38.WIG 1D /r RM      | avx512bw
vpabsd       xy xy/m                 | VEX.66.0F38.WIG 1E /r RM       | avx/avx2
vpabsd       xyz{kz} xyz/m/b4        | EVEX.66.0F38.W0 1E /r RM       | avx512f
vpabsq       xyz{kz} xyz/m/b8        | EVEX.66.0F38.W1 1F /r RM       | avx512f
vpsignb      xy xy xy/m              | VEX.66.0F38.WIG 08 /r RVM      | avx/avx2
vpsignw      xy xy xy/m              | VEX.66.0F38.WIG 09 /r RVM      | avx/avx2
vpsignd      xy xy xy/m              | VEX.66.0F38.WIG 0A /r RVM      | avx/avx2
vphaddw      xy xy xy/m              | VEX.66.0F38.WIG 01 /r RVM      | avx/avx2
vphaddd      xy xy xy/m              | VEX.66.0F38.WIG 02 /r RVM      | avx/avx2
vplzcntd     xyz{kz} xyz/m/b4        | EVEX.66.0F38.W0 44 /r RM       | avx512cd
vplzcntq     xyz{kz} xyz/m/b8        | EVEX.66.0F38.W1 44 /r RM       | avx512cd
vpconflictd  xyz{kz} xyz/m/b4        | EVEX.66.0F38.W0 C4 /r RM       | avx512cd
vpconflictq  xyz{kz} xyz/m/b8        | EVEX.66.0F38.W1 C4 /r RM       | avx512cd
# Logic
vpand        xy xy xy/m              | VEX.66.0F.WIG DB /r RVM        | avx/avx2
vpandd       xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 DB /r RVM        | avx512f
vpandq       xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 DB /r RVM        | avx512f
vpandn       xy xy xy/m              | VEX.66.0F.WIG DF /r RVM        | avx/avx2
vpandnd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 DF /r RVM        | avx512f
vpandnq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 DF /r RVM        | avx512f
vpor         xy xy xy/m              | VEX.66.0F.WIG EB /r RVM        | avx/avx2
vpord        xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 EB /r RVM        | avx512f
vporq        xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 EB /r RVM        | avx512f
vpxor        xy xy xy/m              | VEX.66.0F.WIG EF /r RVM        | avx/avx2
vpxord       xyz{kz} xyz xyz/m/b4    | EVEX.66.0F.W0 EF /r RVM        | avx512f
vpxorq       xyz{kz} xyz xyz/m/b8    | EVEX.66.0F.W1 EF /r RVM        | avx512f
vpternlogd   xyz{kz} xyz xyz/m/b4 i8 | EVEX.66.0F3A.W0 25 /r ib RVMI  | avx512f
vpternlogq   xyz{kz} xyz xyz/m/b8 i8 | EVEX.66.0F3A.W1 25 /r ib RVMI  | avx512f
vptest       xy xy/m                 | VEX.66.0F38.WIG 17 /r RM       | avx
# Shifts
vpsllw       xy xy x/m128            | VEX.66.0F.WIG F1 /r RVM        | avx/avx2
vpsllw       xyz{kz} xyz x/m128      | EVEX.66.0F.WIG F1 /r RVM       | avx512bw
vpsllw       xy xy i8                | VEX.66.0F.WIG 71 /6 ib VMI     | avx/avx2
vpsllw       xyz{kz} xyz/m i8        | EVEX.66.0F.WIG 71 /6 ib VMI    | avx512bw
vpslld       xy xy x/m128            | VEX.66.0F.WIG F2 /r RVM        | avx/avx2
vpslld       xyz{kz} xyz x/m128      | EVEX.66.0F.W0 F2 /r RVM        | avx512f
vpslld       xy xy i8                | VEX.66.0F.WIG 72 /6 ib VMI     | avx/avx2
vpslld       xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 72 /6 ib VMI     | avx512f
vpsllq       xy xy x/m128            | VEX.66.0F.WIG F3 /r RVM        | avx/avx2
vpsllq       xyz{kz} xyz x/m128      | EVEX.66.0F.W1 F3 /r RVM        | avx512f
vpsllq       xy xy i8                | VEX.66.0F.WIG 73 /6 ib VMI     | avx/avx2
vpsllq       xyz{kz} xyz/m/b8 i8     | EVEX.66.0F.W1 73 /6 ib VMI     | avx512f
vpsrlw       xy xy x/m128            | VEX.66.0F.WIG D1 /r RVM        | avx/avx2
vpsrlw       xyz{kz} xyz x/m128      | EVEX.66.0F.WIG D1 /r RVM       | avx512bw
vpsrlw       xy xy i8                | VEX.66.0F.WIG 71 /2 ib VMI     | avx/avx2
vpsrlw       xyz{kz} xyz/m i8        | EVEX.66.0F.WIG 71 /2 ib VMI    | avx512bw
vpsrld       xy xy x/m128            | VEX.66.0F.WIG D2 /r RVM        | avx/avx2
vpsrld       xyz{kz} xyz x/m128      | EVEX.66.0F.W0 D2 /r RVM        | avx512f
vpsrld       xy xy i8                | VEX.66.0F.WIG 72 /2 ib VMI     | avx/avx2
vpsrld       xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 72 /2 ib VMI     | avx512f
vpsrlq       xy xy x/m128            | VEX.66.0F.WIG D3 /r RVM        | avx/avx2
vpsrlq       xyz{kz} xyz x/m128      | EVEX.66.0F.W1 D3 /r RVM        | avx512f
vpsrlq       xy xy i8                | VEX.66.0F.WIG 73 /2 ib VMI     | avx/avx2
vpsrlq       xyz{kz} xyz/m/b8 i8     | EVEX.66.0F.W1 73 /2 ib VMI     | avx512f
vpsraw       xy xy x/m128            | VEX.66.0F.WIG E1 /r RVM        | avx/avx2
vpsraw       xyz{kz} xyz x/m128      | EVEX.66.0F.WIG E1 /r RVM       | avx512bw
vpsraw       xy xy i8                | VEX.66.0F.WIG 71 /4 ib VMI     | avx/avx2
vpsraw       xyz{kz} xyz/m i8        | EVEX.66.0F.WIG 71 /4 ib VMI    | avx512bw
vpsrad       xy xy x/m128            | VEX.66.0F.WIG E2 /r RVM        | avx/avx2
vpsrad       xyz{kz} xyz x/m128      | EVEX.66.0F.W0 E2 /r RVM        | avx512f
vpsrad       xy xy i8                | VEX.66.0F.WIG 72 /4 ib VMI     | avx/avx2
vpsrad       xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 72 /4 ib VMI     | avx512f
vpsraq       xyz{kz} xyz x/m128      | EVEX.66.0F.W1 E2 /r RVM        | avx512f
vpsraq       xyz{kz} xyz/m/b8 i8     | EVEX.66.0F.W1 72 /4 ib VMI     | avx512f
vpslldq      xy xy i8                | VEX.66.0F.WIG 73 /7 ib VMI     | avx/avx2
vpslldq      xyz xyz/m i8            | EVEX.66.0F.WIG 73 /7 ib VMI    | avx512bw
vpsrldq      xy xy i8                | VEX.66.0F.WIG 73 /3 ib VMI     | avx/avx2
vpsrldq      xyz xyz/m i8            | EVEX.66.0F.WIG 73 /3 ib VMI    | avx512bw
vprold       xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 72 /1 ib VMI     | avx512f
vprolq       xyz{kz} xyz/m/b8 i8     | EVEX.66.0F.W1 72 /1 ib VMI     | avx512f
vprord       xyz{kz} xyz/m/b4 i8     | EVEX.66.0F.W0 72 /0 ib VMI     | avx512f
vprorq       xyz{kz} xyz/m/b8 i8     | EVEX.66.0F.W1 72 /0 ib VMI     | avx512f
vpsllvd      xy xy xy/m              | VEX.66.0F38.W0 47 /r RVM       | avx2
vpsllvd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 47 /r RVM      | avx512f
vpsllvq      xy xy xy/m              | VEX.66.0F38.W1 47 /r RVM       | avx2
vpsllvq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 47 /r RVM      | avx512f
vpsrlvd      xy xy xy/m              | VEX.66.0F38.W0 45 /r RVM       | avx2
vpsrlvd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 45 /r RVM      | avx512f
vpsrlvq      xy xy xy/m              | VEX.66.0F38.W1 45 /r RVM       | avx2
vpsrlvq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 45 /r RVM      | avx512f
vpsravd      xy xy xy/m              | VEX.66.0F38.W0 46 /r RVM       | avx2
vpsravd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 46 /r RVM      | avx512f
vpsravq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 46 /r RVM      | avx512f
vpsllvw      xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 12 /r RVM      | avx512bw
vpsrlvw      xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 10 /r RVM      | avx512bw
vpsravw      xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 11 /r RVM      | avx512bw
vprolvd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 15 /r RVM      | avx512f
vprolvq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 15 /r RVM      | avx512f
vprorvd      xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 14 /r RVM      | avx512f
vprorvq      xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 14 /r RVM      | avx512f
# Comparisons and blends
vpcmpeqb     xy xy xy/m              | VEX.66.0F.WIG 74 /r RVM        | avx/avx2
vpcmpeqb     k{k} xyz xyz/m          | EVEX.66.0F.WIG 74 /r RVM       | avx512bw
vpcmpeqw     xy xy xy/m              | VEX.66.0F.WIG 75 /r RVM        | avx/avx2
vpcmpeqw     k{k} xyz xyz/m          | EVEX.66.0F.WIG 75 /r RVM       | avx512bw
vpcmpeqd     xy xy xy/m              | VEX.66.0F.WIG 76 /r RVM        | avx/avx2
vpcmpeqd     k{k} xyz xyz/m/b4       | EVEX.66.0F.W0 76 /r RVM        | avx512f
vpcmpeqq     xy xy xy/m              | VEX.66.0F38.WIG 29 /r RVM      | avx/avx2
vpcmpeqq     k{k} xyz xyz/m/b8       | EVEX.66.0F38.W1 29 /r RVM      | avx512f
vpcmpgtb     xy xy xy/m              | VEX.66.0F.WIG 64 /r RVM        | avx/avx2
vpcmpgtb     k{k} xyz xyz/m          | EVEX.66.0F.WIG 64 /r RVM       | avx512bw
vpcmpgtw     xy xy xy/m              | VEX.66.0F.WIG 65 /r RVM        | avx/avx2
vpcmpgtw     k{k} xyz xyz/m          | EVEX.66.0F.WIG 65 /r RVM       | avx512bw
vpcmpgtd     xy xy xy/m              | VEX.66.0F.WIG 66 /r RVM        | avx/avx2
vpcmpgtd     k{k} xyz xyz/m/b4       | EVEX.66.0F.W0 66 /r RVM        | avx512f
vpcmpgtq     xy xy xy/m              | VEX.66.0F38.WIG 37 /r RVM      | avx/avx2
vpcmpgtq     k{k} xyz xyz/m/b8       | EVEX.66.0F38.W1 37 /r RVM      | avx512f
vpcmpb       k{k} xyz xyz/m i8       | EVEX.66.0F3A.W0 3F /r ib RVMI  | avx512bw
vpcmpub      k{k} xyz xyz/m i8       | EVEX.66.0F3A.W0 3E /r ib RVMI  | avx512bw
vpcmpw       k{k} xyz xyz/m i8       | EVEX.66.0F3A.W1 3F /r ib RVMI  | avx512bw
vpcmpuw      k{k} xyz xyz/m i8       | EVEX.66.0F3A.W1 3E /r ib RVMI  | avx512bw
vpcmpd       k{k} xyz xyz/m/b4 i8    | EVEX.66.0F3A.W0 1F /r ib RVMI  | avx512f
vpcmpud      k{k} xyz xyz/m/b4 i8    | EVEX.66.0F3A.W0 1E /r ib RVMI  | avx512f
vpcmpq       k{k} xyz xyz/m/b8 i8    | EVEX.66.0F3A.W1 1F /r ib RVMI  | avx512f
vpcmpuq      k{k} xyz xyz/m/b8 i8    | EVEX.66.0F3A.W1 1E /r ib RVMI  | avx512f
vptestmb     k{k} xyz xyz/m          | EVEX.66.0F38.W0 26 /r RVM      | avx512bw
vptestmw     k{k} xyz xyz/m          | EVEX.66.0F38.W1 26 /r RVM      | avx512bw
vptestmd     k{k} xyz xyz/m/b4       | EVEX.66.0F38.W0 27 /r RVM      | avx512f
vptestmq     k{k} xyz xyz/m/b8       | EVEX.66.0F38.W1 27 /r RVM      | avx512f
vptestnmb    k{k} xyz xyz/m          | EVEX.F3.0F38.W0 26 /r RVM      | avx512bw
vptestnmw    k{k} xyz xyz/m          | EVEX.F3.0F38.W1 26 /r RVM      | avx512bw
vptestnmd    k{k} xyz xyz/m/b4       | EVEX.F3.0F38.W0 27 /r RVM      | avx512f
vptestnmq    k{k} xyz xyz/m/b8       | EVEX.F3.0F38.W1 27 /r RVM      | avx512f
vpblendmb    xyz{kz} xyz xyz/m       | EVEX.66.0F38.W0 66 /r RVM      | avx512bw
vpblendmw    xyz{kz} xyz xyz/m       | EVEX.66.0F38.W1 66 /r RVM      | avx512bw
vpblendmd    xyz{kz} xyz xyz/m/b4    | EVEX.66.0F38.W0 64 /r RVM      | avx512f
vpblendmq    xyz{kz} xyz xyz/m/b8    | EVEX.66.0F38.W1 64 /r RVM      | avx512f
vpblendw     xy xy xy/m i8           | VEX.66.0F3A.WIG 0E /r ib RVMI  | avx/avx2
vpblendd     xy xy xy/m i8           | VEX.66.0F3A.W0 02 /r ib RVMI   | avx2
vpblendvb    xy xy xy/m xy           | VEX.66.0F3A.W0 4C /r /is4 RVMS | avx/avx2
"""
