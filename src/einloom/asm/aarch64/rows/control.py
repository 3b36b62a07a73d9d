"""Branches, barriers, cache maintenance, system registers, hints. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# Branches. A label, or the distance in bytes from the instruction. `b.cond` stands for all: b.eq, b.ne, …
b      label                  | 000101 offset:26
bl     label                  | 100101 offset:26
b.cond label                  | 01010100 offset:19 0 cond:4
cbz    Rt label               | sf 011010 0 offset:19 t:5
cbnz   Rt label               | sf 011010 1 offset:19 t:5
tbz    Rt #bit label          | b5 011011 0 b40:5 offset:14 t:5
tbnz   Rt #bit label          | b5 011011 1 b40:5 offset:14 t:5
br     Xn                     | 1101011 0 000 11111 000000 n:5 00000
blr    Xn                     | 1101011 0 001 11111 000000 n:5 00000
ret    Xn                     | 1101011 0 010 11111 000000 n:5 00000
ret                           | 1101011 0 010 11111 000000 11110 00000

# Exceptions and hints.
brk    #u16                   | 11010100 001 imm:16 00000
hlt    #u16                   | 11010100 010 imm:16 00000
udf    #u16                   | 0000000000000000 imm:16
hint   #u7                    | 1101010100 0 00 011 0010 imm:7 11111
nop                           | 1101010100 0 00 011 0010 0000000 11111
yield                         | 1101010100 0 00 011 0010 0000001 11111
wfe                           | 1101010100 0 00 011 0010 0000010 11111
wfi                           | 1101010100 0 00 011 0010 0000011 11111
sev                           | 1101010100 0 00 011 0010 0000100 11111
sevl                          | 1101010100 0 00 011 0010 0000101 11111

# Barriers, cache maintenance, system registers: names as strings, asm.dmb("ish"), asm.mrs(x0, "cntvct_el0").
clrex                         | 1101010100 0 00 011 0011 1111 010 11111
dsb    barrier                | 1101010100 0 00 011 0011 option:4 100 11111
dmb    barrier                | 1101010100 0 00 011 0011 option:4 101 11111
isb                           | 1101010100 0 00 011 0011 1111 110 11111
dc     data_cache Xt           | 1101010100 0 01 operation:14 t:5
ic     code_cache Xt           | 1101010100 0 01 operation:14 t:5
ic     code_caches             | 1101010100 0 01 operation:14 11111
mrs    Xt readable            | 1101010100 1 1 system:15 t:5
msr    writable Xt            | 1101010100 0 1 system:15 t:5
"""
