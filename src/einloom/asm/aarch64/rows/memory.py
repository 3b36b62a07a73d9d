"""Loads and stores of general and scalar floating-point registers. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# One register. Y: w x b h s d q; its size gives the scale of an offset. Offsets that a scaled form cannot hold
# fall back to the unscaled one (ldur, stur), as in every assembler.
ldr    Yt [n,#u12*Y]          | size:2 111 V 01 q 1 imm:12 n:5 t:5
ldr    Yt [n,#s9]             | size:2 111 V 00 q 1 0 imm:9 00 n:5 t:5
ldr    Yt [n],#s9             | size:2 111 V 00 q 1 0 imm:9 01 n:5 t:5                 | n!=t
ldr    Yt [n,#s9]!            | size:2 111 V 00 q 1 0 imm:9 11 n:5 t:5                 | n!=t
ldr    Yt [n,m*Y]             | size:2 111 V 00 q 1 1 m:5 option:3 S 10 n:5 t:5
ldr    Yt label               | literal:2 011 V 00 offset:19 t:5                        | Y=wxsdq
ldur   Yt [n,#s9]             | size:2 111 V 00 q 1 0 imm:9 00 n:5 t:5
str    Yt [n,#u12*Y]          | size:2 111 V 01 q 0 imm:12 n:5 t:5
str    Yt [n,#s9]             | size:2 111 V 00 q 0 0 imm:9 00 n:5 t:5
str    Yt [n],#s9             | size:2 111 V 00 q 0 0 imm:9 01 n:5 t:5                 | n!=t
str    Yt [n,#s9]!            | size:2 111 V 00 q 0 0 imm:9 11 n:5 t:5                 | n!=t
str    Yt [n,m*Y]             | size:2 111 V 00 q 0 1 m:5 option:3 S 10 n:5 t:5
stur   Yt [n,#s9]             | size:2 111 V 00 q 0 0 imm:9 00 n:5 t:5

# Narrow elements in general registers.
ldrb   Wt [n,#u12]            | 00 111 0 01 01 imm:12 n:5 t:5
ldrb   Wt [n,#s9]             | 00 111 0 00 01 0 imm:9 00 n:5 t:5
ldrb   Wt [n],#s9             | 00 111 0 00 01 0 imm:9 01 n:5 t:5                      | n!=t
ldrb   Wt [n,#s9]!            | 00 111 0 00 01 0 imm:9 11 n:5 t:5                      | n!=t
ldrb   Wt [n,m*1]             | 00 111 0 00 01 1 m:5 option:3 S 10 n:5 t:5
ldurb  Wt [n,#s9]             | 00 111 0 00 01 0 imm:9 00 n:5 t:5
strb   Wt [n,#u12]            | 00 111 0 01 00 imm:12 n:5 t:5
strb   Wt [n,#s9]             | 00 111 0 00 00 0 imm:9 00 n:5 t:5
strb   Wt [n],#s9             | 00 111 0 00 00 0 imm:9 01 n:5 t:5                      | n!=t
strb   Wt [n,#s9]!            | 00 111 0 00 00 0 imm:9 11 n:5 t:5                      | n!=t
strb   Wt [n,m*1]             | 00 111 0 00 00 1 m:5 option:3 S 10 n:5 t:5
sturb  Wt [n,#s9]             | 00 111 0 00 00 0 imm:9 00 n:5 t:5
ldrh   Wt [n,#u12*2]          | 01 111 0 01 01 imm:12 n:5 t:5
ldrh   Wt [n,#s9]             | 01 111 0 00 01 0 imm:9 00 n:5 t:5
ldrh   Wt [n],#s9             | 01 111 0 00 01 0 imm:9 01 n:5 t:5                      | n!=t
ldrh   Wt [n,#s9]!            | 01 111 0 00 01 0 imm:9 11 n:5 t:5                      | n!=t
ldrh   Wt [n,m*2]             | 01 111 0 00 01 1 m:5 option:3 S 10 n:5 t:5
ldurh  Wt [n,#s9]             | 01 111 0 00 01 0 imm:9 00 n:5 t:5
strh   Wt [n,#u12*2]          | 01 111 0 01 00 imm:12 n:5 t:5
strh   Wt [n,#s9]             | 01 111 0 00 00 0 imm:9 00 n:5 t:5
strh   Wt [n],#s9             | 01 111 0 00 00 0 imm:9 01 n:5 t:5                      | n!=t
strh   Wt [n,#s9]!            | 01 111 0 00 00 0 imm:9 11 n:5 t:5                      | n!=t
strh   Wt [n,m*2]             | 01 111 0 00 00 1 m:5 option:3 S 10 n:5 t:5
sturh  Wt [n,#s9]             | 01 111 0 00 00 0 imm:9 00 n:5 t:5
ldrsb  Rt [n,#u12]            | 00 111 0 01 1 wf imm:12 n:5 t:5
ldrsb  Rt [n,#s9]             | 00 111 0 00 1 wf 0 imm:9 00 n:5 t:5
ldrsb  Rt [n],#s9             | 00 111 0 00 1 wf 0 imm:9 01 n:5 t:5                    | n!=t
ldrsb  Rt [n,#s9]!            | 00 111 0 00 1 wf 0 imm:9 11 n:5 t:5                    | n!=t
ldrsb  Rt [n,m*1]             | 00 111 0 00 1 wf 1 m:5 option:3 S 10 n:5 t:5
ldursb Rt [n,#s9]             | 00 111 0 00 1 wf 0 imm:9 00 n:5 t:5
ldrsh  Rt [n,#u12*2]          | 01 111 0 01 1 wf imm:12 n:5 t:5
ldrsh  Rt [n,#s9]             | 01 111 0 00 1 wf 0 imm:9 00 n:5 t:5
ldrsh  Rt [n],#s9             | 01 111 0 00 1 wf 0 imm:9 01 n:5 t:5                    | n!=t
ldrsh  Rt [n,#s9]!            | 01 111 0 00 1 wf 0 imm:9 11 n:5 t:5                    | n!=t
ldrsh  Rt [n,m*2]             | 01 111 0 00 1 wf 1 m:5 option:3 S 10 n:5 t:5
ldursh Rt [n,#s9]             | 01 111 0 00 1 wf 0 imm:9 00 n:5 t:5
ldrsw  Xt [n,#u12*4]          | 10 111 0 01 10 imm:12 n:5 t:5
ldrsw  Xt [n,#s9]             | 10 111 0 00 10 0 imm:9 00 n:5 t:5
ldrsw  Xt [n],#s9             | 10 111 0 00 10 0 imm:9 01 n:5 t:5                      | n!=t
ldrsw  Xt [n,#s9]!            | 10 111 0 00 10 0 imm:9 11 n:5 t:5                      | n!=t
ldrsw  Xt [n,m*4]             | 10 111 0 00 10 1 m:5 option:3 S 10 n:5 t:5
ldrsw  Xt label               | 10 011 0 00 offset:19 t:5
ldursw Xt [n,#s9]             | 10 111 0 00 10 0 imm:9 00 n:5 t:5

# Two registers; `np` says that the data will not be needed again soon.
ldp    Yt Yu [n,#s7*Y]        | pair:2 101 V 010 1 imm:7 u:5 n:5 t:5                 | Y=wxsdq t!=u
ldp    Yt Yu [n],#s7*Y        | pair:2 101 V 001 1 imm:7 u:5 n:5 t:5                 | Y=wxsdq t!=u n!=t n!=u
ldp    Yt Yu [n,#s7*Y]!       | pair:2 101 V 011 1 imm:7 u:5 n:5 t:5                 | Y=wxsdq t!=u n!=t n!=u
ldnp   Yt Yu [n,#s7*Y]        | pair:2 101 V 000 1 imm:7 u:5 n:5 t:5                 | Y=wxsdq t!=u
stp    Yt Yu [n,#s7*Y]        | pair:2 101 V 010 0 imm:7 u:5 n:5 t:5                 | Y=wxsdq
stp    Yt Yu [n],#s7*Y        | pair:2 101 V 001 0 imm:7 u:5 n:5 t:5                 | Y=wxsdq n!=t n!=u
stp    Yt Yu [n,#s7*Y]!       | pair:2 101 V 011 0 imm:7 u:5 n:5 t:5                 | Y=wxsdq n!=t n!=u
stnp   Yt Yu [n,#s7*Y]        | pair:2 101 V 000 0 imm:7 u:5 n:5 t:5                 | Y=wxsdq
ldpsw  Xt Xu [n,#s7*4]        | 01 101 0 010 1 imm:7 u:5 n:5 t:5                       | t!=u
ldpsw  Xt Xu [n],#s7*4        | 01 101 0 001 1 imm:7 u:5 n:5 t:5                       | t!=u n!=t n!=u
ldpsw  Xt Xu [n,#s7*4]!       | 01 101 0 011 1 imm:7 u:5 n:5 t:5                       | t!=u n!=t n!=u

# Prefetch: asm.prfm("pldl1keep", mem(x0, 256)).
prfm   prefetch [n,#u12*8]    | 11 111 0 01 10 imm:12 n:5 prefetch:5
prfm   prefetch [n,#s9]       | 11 111 0 00 10 0 imm:9 00 n:5 prefetch:5
prfm   prefetch [n,m*8]       | 11 111 0 00 10 1 m:5 option:3 S 10 n:5 prefetch:5
prfm   prefetch label         | 11 011 0 00 offset:19 prefetch:5
prfum  prefetch [n,#s9]       | 11 111 0 00 10 0 imm:9 00 n:5 prefetch:5

# Acquire, release, exclusive: for counters and barriers between threads.
ldar   Rt [n]                 | 1 sf 001000 1 1 0 11111 1 11111 n:5 t:5
stlr   Rt [n]                 | 1 sf 001000 1 0 0 11111 1 11111 n:5 t:5
ldxr   Rt [n]                 | 1 sf 001000 0 1 0 11111 0 11111 n:5 t:5
ldaxr  Rt [n]                 | 1 sf 001000 0 1 0 11111 1 11111 n:5 t:5
stxr   Ws Rt [n]              | 1 sf 001000 0 0 0 s:5 0 11111 n:5 t:5                  | s!=t n!=s
stlxr  Ws Rt [n]              | 1 sf 001000 0 0 0 s:5 1 11111 n:5 t:5                  | s!=t n!=s
ldadd  Rs Rt [n]              | 1 sf 111000 0 0 1 s:5 0 000 00 n:5 t:5               | +lse
ldaddal Rs Rt [n]             | 1 sf 111000 1 1 1 s:5 0 000 00 n:5 t:5               | +lse
"""
