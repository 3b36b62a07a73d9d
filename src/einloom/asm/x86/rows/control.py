"""Calls, jumps, conditions, prefetches, fences. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Calls and jumps
call         rel32     | E8 cd D            | -
call         q/m       | FF /2 D64 M        | -
jmp          rel8      | EB cb D            | -
jmp          rel32     | E9 cd D            | -
jmp          q/m       | FF /4 D64 M        | -
ret                    | C3                 | -
ret          i16       | C2 iw I            | -
leave                  | C9                 | -
# Other
nop                    | 90                 | -
ud2                    | 0F 0B              | -
int3                   | CC                 | -
cpuid                  | 0F A2              | -
xgetbv                 | 0F 01 D0           | xsave
rdtsc                  | 0F 31              | -
rdtscp                 | 0F 01 F9           | rdtscp
pause                  | F3 90              | -
endbr64                | F3 0F 1E FA        | -
syscall                | 0F 05              | -
mfence                 | 0F AE F0           | -
lfence                 | 0F AE E8           | -
sfence                 | 0F AE F8           | -
ldmxcsr      m32       | 0F AE /2 M         | -
stmxcsr      m32       | 0F AE /3 M         | -
nop          wd/m      | 0F 1F /0 M         | -
prefetchnta  m8        | 0F 18 /0 M         | -
prefetcht0   m8        | 0F 18 /1 M         | -
prefetcht1   m8        | 0F 18 /2 M         | -
prefetcht2   m8        | 0F 18 /3 M         | -
prefetchw    m8        | 0F 0D /1 M         | prefetchw
vzeroupper             | VEX.0F.L0.WIG 77   | avx
vzeroall               | VEX.0F.L1.WIG 77   | avx
vldmxcsr     m32       | VEX.0F.WIG AE /2 M | avx
vstmxcsr     m32       | VEX.0F.WIG AE /3 M | avx
# Conditions
jo           rel8      | 70 cb D            | -
jo           rel32     | 0F 80 cd D         | -
jno          rel8      | 71 cb D            | -
jno          rel32     | 0F 81 cd D         | -
jb           rel8      | 72 cb D            | -
jb           rel32     | 0F 82 cd D         | -
jc           rel8      | 72 cb D            | -
jc           rel32     | 0F 82 cd D         | -
jnae         rel8      | 72 cb D            | -
jnae         rel32     | 0F 82 cd D         | -
jae          rel8      | 73 cb D            | -
jae          rel32     | 0F 83 cd D         | -
jnb          rel8      | 73 cb D            | -
jnb          rel32     | 0F 83 cd D         | -
jnc          rel8      | 73 cb D            | -
jnc          rel32     | 0F 83 cd D         | -
je           rel8      | 74 cb D            | -
je           rel32     | 0F 84 cd D         | -
jz           rel8      | 74 cb D            | -
jz           rel32     | 0F 84 cd D         | -
jne          rel8      | 75 cb D            | -
jne          rel32     | 0F 85 cd D         | -
jnz          rel8      | 75 cb D            | -
jnz          rel32     | 0F 85 cd D         | -
jbe          rel8      | 76 cb D            | -
jbe          rel32     | 0F 86 cd D         | -
jna          rel8      | 76 cb D            | -
jna          rel32     | 0F 86 cd D         | -
ja           rel8      | 77 cb D            | -
ja           rel32     | 0F 87 cd D         | -
jnbe         rel8      | 77 cb D            | -
jnbe         rel32     | 0F 87 cd D         | -
js           rel8      | 78 cb D            | -
js           rel32     | 0F 88 cd D         | -
jns          rel8      | 79 cb D            | -
jns          rel32     | 0F 89 cd D         | -
jp           rel8      | 7A cb D            | -
jp           rel32     | 0F 8A cd D         | -
jpe          rel8      | 7A cb D            | -
jpe          rel32     | 0F 8A cd D         | -
jnp          rel8      | 7B cb D            | -
jnp          rel32     | 0F 8B cd D         | -
jpo          rel8      | 7B cb D            | -
jpo          rel32     | 0F 8B cd D         | -
jl           rel8      | 7C cb D            | -
jl           rel32     | 0F 8C cd D         | -
jnge         rel8      | 7C cb D            | -
jnge         rel32     | 0F 8C cd D         | -
jge          rel8      | 7D cb D            | -
jge          rel32     | 0F 8D cd D         | -
jnl          rel8      | 7D cb D            | -
jnl          rel32     | 0F 8D cd D         | -
jle          rel8      | 7E cb D            | -
jle          rel32     | 0F 8E cd D         | -
jng          rel8      | 7E cb D            | -
jng          rel32     | 0F 8E cd D         | -
jg           rel8      | 7F cb D            | -
jg           rel32     | 0F 8F cd D         | -
jnle         rel8      | 7F cb D            | -
jnle         rel32     | 0F 8F cd D         | -
seto         b/m       | 0F 90 M            | -
setno        b/m       | 0F 91 M            | -
setb         b/m       | 0F 92 M            | -
setc         b/m       | 0F 92 M            | -
setnae       b/m       | 0F 92 M            | -
setae        b/m       | 0F 93 M            | -
setnb        b/m       | 0F 93 M            | -
setnc        b/m       | 0F 93 M            | -
sete         b/m       | 0F 94 M            | -
setz         b/m       | 0F 94 M            | -
setne        b/m       | 0F 95 M            | -
setnz        b/m       | 0F 95 M            | -
setbe        b/m       | 0F 96 M            | -
setna        b/m       | 0F 96 M            | -
seta         b/m       | 0F 97 M            | -
setnbe       b/m       | 0F 97 M            | -
sets         b/m       | 0F 98 M            | -
setns        b/m       | 0F 99 M            | -
setp         b/m       | 0F 9A M            | -
setpe        b/m       | 0F 9A M            | -
setnp        b/m       | 0F 9B M            | -
setpo        b/m       | 0F 9B M            | -
setl         b/m       | 0F 9C M            | -
setnge       b/m       | 0F 9C M            | -
setge        b/m       | 0F 9D M            | -
setnl        b/m       | 0F 9D M            | -
setle        b/m       | 0F 9E M            | -
setng        b/m       | 0F 9E M            | -
setg         b/m       | 0F 9F M            | -
setnle       b/m       | 0F 9F M            | -
cmovo        wdq wdq/m | 0F 40 /r RM        | -
cmovno       wdq wdq/m | 0F 41 /r RM        | -
cmovb        wdq wdq/m | 0F 42 /r RM        | -
cmovc        wdq wdq/m | 0F 42 /r RM        | -
cmovnae      wdq wdq/m | 0F 42 /r RM        | -
cmovae       wdq wdq/m | 0F 43 /r RM        | -
cmovnb       wdq wdq/m | 0F 43 /r RM        | -
cmovnc       wdq wdq/m | 0F 43 /r RM        | -
cmove        wdq wdq/m | 0F 44 /r RM        | -
cmovz        wdq wdq/m | 0F 44 /r RM        | -
cmovne       wdq wdq/m | 0F 45 /r RM        | -
cmovnz       wdq wdq/m | 0F 45 /r RM        | -
cmovbe       wdq wdq/m | 0F 46 /r RM        | -
cmovna       wdq wdq/m | 0F 46 /r RM        | -
cmova        wdq wdq/m | 0F 47 /r RM        | -
cmovnbe      wdq wdq/m | 0F 47 /r RM        | -
cmovs        wdq wdq/m | 0F 48 /r RM        | -
cmovns       wdq wdq/m | 0F 49 /r RM        | -
cmovp        wdq wdq/m | 0F 4A /r RM        | -
cmovpe       wdq wdq/m | 0F 4A /r RM        | -
cmovnp       wdq wdq/m | 0F 4B /r RM        | -
cmovpo       wdq wdq/m | 0F 4B /r RM        | -
cmovl        wdq wdq/m | 0F 4C /r RM        | -
cmovnge      wdq wdq/m | 0F 4C /r RM        | -
cmovge       wdq wdq/m | 0F 4D /r RM        | -
cmovnl       wdq wdq/m | 0F 4D /r RM        | -
cmovle       wdq wdq/m | 0F 4E /r RM        | -
cmovng       wdq wdq/m | 0F 4E /r RM        | -
cmovg        wdq wdq/m | 0F 4F /r RM        | -
cmovnle      wdq wdq/m | 0F 4F /r RM        | -
"""
