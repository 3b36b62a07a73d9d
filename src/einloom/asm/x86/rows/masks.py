"""AVX-512 mask registers. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Moves
kmovb            k k/m8  | VEX.66.0F.L0.W0 90 /r RM       | avx512dq
kmovb            m8 k    | VEX.66.0F.L0.W0 91 /r MR       | avx512dq
kmovb            k d     | VEX.66.0F.L0.W0 92 /r RM       | avx512dq
kmovb            d k     | VEX.66.0F.L0.W0 93 /r RM       | avx512dq
kmovw            k k/m16 | VEX.0F.L0.W0 90 /r RM          | avx512f
kmovw            m16 k   | VEX.0F.L0.W0 91 /r MR          | avx512f
kmovw            k d     | VEX.0F.L0.W0 92 /r RM          | avx512f
kmovw            d k     | VEX.0F.L0.W0 93 /r RM          | avx512f
kmovd            k k/m32 | VEX.66.0F.L0.W1 90 /r RM       | avx512bw
kmovd            m32 k   | VEX.66.0F.L0.W1 91 /r MR       | avx512bw
kmovd            k d     | VEX.F2.0F.L0.W0 92 /r RM       | avx512bw
kmovd            d k     | VEX.F2.0F.L0.W0 93 /r RM       | avx512bw
kmovq            k k/m64 | VEX.0F.L0.W1 90 /r RM          | avx512bw
kmovq            m64 k   | VEX.0F.L0.W1 91 /r MR          | avx512bw
kmovq            k q     | VEX.F2.0F.L0.W1 92 /r RM       | avx512bw
kmovq            q k     | VEX.F2.0F.L0.W1 93 /r RM       | avx512bw
# Logic
kandb            k k k   | VEX.66.0F.L1.W0 41 /r RVM      | avx512dq
kandw            k k k   | VEX.0F.L1.W0 41 /r RVM         | avx512f
kandd            k k k   | VEX.66.0F.L1.W1 41 /r RVM      | avx512bw
kandq            k k k   | VEX.0F.L1.W1 41 /r RVM         | avx512bw
kandnb           k k k   | VEX.66.0F.L1.W0 42 /r RVM      | avx512dq
kandnw           k k k   | VEX.0F.L1.W0 42 /r RVM         | avx512f
kandnd           k k k   | VEX.66.0F.L1.W1 42 /r RVM      | avx512bw
kandnq           k k k   | VEX.0F.L1.W1 42 /r RVM         | avx512bw
korb             k k k   | VEX.66.0F.L1.W0 45 /r RVM      | avx512dq
korw             k k k   | VEX.0F.L1.W0 45 /r RVM         | avx512f
kord             k k k   | VEX.66.0F.L1.W1 45 /r RVM      | avx512bw
korq             k k k   | VEX.0F.L1.W1 45 /r RVM         | avx512bw
kxnorb           k k k   | VEX.66.0F.L1.W0 46 /r RVM      | avx512dq
kxnorw           k k k   | VEX.0F.L1.W0 46 /r RVM         | avx512f
kxnord           k k k   | VEX.66.0F.L1.W1 46 /r RVM      | avx512bw
kxnorq           k k k   | VEX.0F.L1.W1 46 /r RVM         | avx512bw
kxorb            k k k   | VEX.66.0F.L1.W0 47 /r RVM      | avx512dq
kxorw            k k k   | VEX.0F.L1.W0 47 /r RVM         | avx512f
kxord            k k k   | VEX.66.0F.L1.W1 47 /r RVM      | avx512bw
kxorq            k k k   | VEX.0F.L1.W1 47 /r RVM         | avx512bw
kaddb            k k k   | VEX.66.0F.L1.W0 4A /r RVM      | avx512dq
kaddw            k k k   | VEX.0F.L1.W0 4A /r RVM         | avx512dq
kaddd            k k k   | VEX.66.0F.L1.W1 4A /r RVM      | avx512bw
kaddq            k k k   | VEX.0F.L1.W1 4A /r RVM         | avx512bw
knotb            k k     | VEX.66.0F.L0.W0 44 /r RM       | avx512dq
knotw            k k     | VEX.0F.L0.W0 44 /r RM          | avx512f
knotd            k k     | VEX.66.0F.L0.W1 44 /r RM       | avx512bw
knotq            k k     | VEX.0F.L0.W1 44 /r RM          | avx512bw
kortestb         k k     | VEX.66.0F.L0.W0 98 /r RM       | avx512dq
kortestw         k k     | VEX.0F.L0.W0 98 /r RM          | avx512f
kortestd         k k     | VEX.66.0F.L0.W1 98 /r RM       | avx512bw
kortestq         k k     | VEX.0F.L0.W1 98 /r RM          | avx512bw
ktestb           k k     | VEX.66.0F.L0.W0 99 /r RM       | avx512dq
ktestw           k k     | VEX.0F.L0.W0 99 /r RM          | avx512dq
ktestd           k k     | VEX.66.0F.L0.W1 99 /r RM       | avx512bw
ktestq           k k     | VEX.0F.L0.W1 99 /r RM          | avx512bw
kshiftrb         k k i8  | VEX.66.0F3A.L0.W0 30 /r ib RMI | avx512dq
kshiftrw         k k i8  | VEX.66.0F3A.L0.W1 30 /r ib RMI | avx512f
kshiftrd         k k i8  | VEX.66.0F3A.L0.W0 31 /r ib RMI | avx512bw
kshiftrq         k k i8  | VEX.66.0F3A.L0.W1 31 /r ib RMI | avx512bw
kshiftlb         k k i8  | VEX.66.0F3A.L0.W0 32 /r ib RMI | avx512dq
kshiftlw         k k i8  | VEX.66.0F3A.L0.W1 32 /r ib RMI | avx512f
kshiftld         k k i8  | VEX.66.0F3A.L0.W0 33 /r ib RMI | avx512bw
kshiftlq         k k i8  | VEX.66.0F3A.L0.W1 33 /r ib RMI | avx512bw
kunpckbw         k k k   | VEX.66.0F.L1.W0 4B /r RVM      | avx512f
kunpckwd         k k k   | VEX.0F.L1.W0 4B /r RVM         | avx512bw
kunpckdq         k k k   | VEX.0F.L1.W1 4B /r RVM         | avx512bw
# Between masks and vectors
vpmovm2b         xyz k   | EVEX.F3.0F38.W0 28 /r RM       | avx512bw
vpmovb2m         k xyz   | EVEX.F3.0F38.W0 29 /r RM       | avx512bw
vpmovm2w         xyz k   | EVEX.F3.0F38.W1 28 /r RM       | avx512bw
vpmovw2m         k xyz   | EVEX.F3.0F38.W1 29 /r RM       | avx512bw
vpmovm2d         xyz k   | EVEX.F3.0F38.W0 38 /r RM       | avx512dq
vpmovd2m         k xyz   | EVEX.F3.0F38.W0 39 /r RM       | avx512dq
vpmovm2q         xyz k   | EVEX.F3.0F38.W1 38 /r RM       | avx512dq
vpmovq2m         k xyz   | EVEX.F3.0F38.W1 39 /r RM       | avx512dq
vpbroadcastmb2q  xyz k   | EVEX.F3.0F38.W1 2A /r RM       | avx512cd
vpbroadcastmw2d  xyz k   | EVEX.F3.0F38.W0 3A /r RM       | avx512cd
"""
