"""General registers: moves, arithmetic, shifts and bits. The notation: `einloom.asm.x86.forms`."""

ROWS = """\
# Moves
mov     b/m b        | 88 /r MR                   | -
mov     wdq/m wdq    | 89 /r MR                   | -
mov     b b/m        | 8A /r RM                   | -
mov     wdq wdq/m    | 8B /r RM                   | -
mov     b i8         | B0+r ib OI                 | -
mov     wd iz        | B8+r iz OI                 | -
mov     b/m i8       | C6 /0 ib MI                | -
mov     wdq/m iz     | C7 /0 iz MI                | -
mov     q i64        | B8+r iq OI                 | -
movabs  q i64        | B8+r iq OI                 | -
movzx   wdq b/m      | 0F B6 /r RM                | -
movzx   dq w/m       | 0F B7 /r RM                | -
movsx   wdq b/m      | 0F BE /r RM                | -
movsx   dq w/m       | 0F BF /r RM                | -
movsxd  q d/m        | 63 /r RM                   | -
movbe   wdq m        | 0F 38 F0 /r RM             | movbe
movbe   m wdq        | 0F 38 F1 /r MR             | movbe
movnti  m dq         | 0F C3 /r MR                | -
lea     wdq m0       | 8D /r RM                   | -
xchg    b/m b        | 86 /r MR                   | -
xchg    wdq/m wdq    | 87 /r MR                   | -
lock_xadd m dq       | F0 0F C1 /r MR             | -
bswap   dq           | 0F C8+r O                  | -
push    q            | 50+r D64 O                 | -
push    q/m          | FF /6 D64 M                | -
push    s8           | 6A ib I                    | -
push    s32          | 68 id I                    | -
pop     q            | 58+r D64 O                 | -
pop     q/m          | 8F /0 D64 M                | -
# Arithmetic and logic
add     wdq/m s8     | 83 /0 ib MI                | -
add     b/m b        | 00 /r MR                   | -
add     wdq/m wdq    | 01 /r MR                   | -
add     b b/m        | 02 /r RM                   | -
add     wdq wdq/m    | 03 /r RM                   | -
add     b/m i8       | 80 /0 ib MI                | -
add     wdq/m iz     | 81 /0 iz MI                | -
or      wdq/m s8     | 83 /1 ib MI                | -
or      b/m b        | 08 /r MR                   | -
or      wdq/m wdq    | 09 /r MR                   | -
or      b b/m        | 0A /r RM                   | -
or      wdq wdq/m    | 0B /r RM                   | -
or      b/m i8       | 80 /1 ib MI                | -
or      wdq/m iz     | 81 /1 iz MI                | -
adc     wdq/m s8     | 83 /2 ib MI                | -
adc     b/m b        | 10 /r MR                   | -
adc     wdq/m wdq    | 11 /r MR                   | -
adc     b b/m        | 12 /r RM                   | -
adc     wdq wdq/m    | 13 /r RM                   | -
adc     b/m i8       | 80 /2 ib MI                | -
adc     wdq/m iz     | 81 /2 iz MI                | -
sbb     wdq/m s8     | 83 /3 ib MI                | -
sbb     b/m b        | 18 /r MR                   | -
sbb     wdq/m wdq    | 19 /r MR                   | -
sbb     b b/m        | 1A /r RM                   | -
sbb     wdq wdq/m    | 1B /r RM                   | -
sbb     b/m i8       | 80 /3 ib MI                | -
sbb     wdq/m iz     | 81 /3 iz MI                | -
and     wdq/m s8     | 83 /4 ib MI                | -
and     b/m b        | 20 /r MR                   | -
and     wdq/m wdq    | 21 /r MR                   | -
and     b b/m        | 22 /r RM                   | -
and     wdq wdq/m    | 23 /r RM                   | -
and     b/m i8       | 80 /4 ib MI                | -
and     wdq/m iz     | 81 /4 iz MI                | -
sub     wdq/m s8     | 83 /5 ib MI                | -
sub     b/m b        | 28 /r MR                   | -
sub     wdq/m wdq    | 29 /r MR                   | -
sub     b b/m        | 2A /r RM                   | -
sub     wdq wdq/m    | 2B /r RM                   | -
sub     b/m i8       | 80 /5 ib MI                | -
sub     wdq/m iz     | 81 /5 iz MI                | -
xor     wdq/m s8     | 83 /6 ib MI                | -
xor     b/m b        | 30 /r MR                   | -
xor     wdq/m wdq    | 31 /r MR                   | -
xor     b b/m        | 32 /r RM                   | -
xor     wdq wdq/m    | 33 /r RM                   | -
xor     b/m i8       | 80 /6 ib MI                | -
xor     wdq/m iz     | 81 /6 iz MI                | -
cmp     wdq/m s8     | 83 /7 ib MI                | -
cmp     b/m b        | 38 /r MR                   | -
cmp     wdq/m wdq    | 39 /r MR                   | -
cmp     b b/m        | 3A /r RM                   | -
cmp     wdq wdq/m    | 3B /r RM                   | -
cmp     b/m i8       | 80 /7 ib MI                | -
cmp     wdq/m iz     | 81 /7 iz MI                | -
test    b/m b        | 84 /r MR                   | -
test    wdq/m wdq    | 85 /r MR                   | -
test    b/m i8       | F6 /0 ib MI                | -
test    wdq/m iz     | F7 /0 iz MI                | -
not     b/m          | F6 /2 M                    | -
not     wdq/m        | F7 /2 M                    | -
neg     b/m          | F6 /3 M                    | -
neg     wdq/m        | F7 /3 M                    | -
mul     b/m          | F6 /4 M                    | -
mul     wdq/m        | F7 /4 M                    | -
imul    b/m          | F6 /5 M                    | -
imul    wdq/m        | F7 /5 M                    | -
div     b/m          | F6 /6 M                    | -
div     wdq/m        | F7 /6 M                    | -
idiv    b/m          | F6 /7 M                    | -
idiv    wdq/m        | F7 /7 M                    | -
imul    wdq wdq/m    | 0F AF /r RM                | -
imul    wdq wdq/m s8 | 6B /r ib RMI               | -
imul    wdq wdq/m iz | 69 /r iz RMI               | -
inc     b/m          | FE /0 M                    | -
inc     wdq/m        | FF /0 M                    | -
dec     b/m          | FE /1 M                    | -
dec     wdq/m        | FF /1 M                    | -
cwde                 | 98                         | -
cdqe                 | 48 98                      | -
cdq                  | 99                         | -
cqo                  | 48 99                      | -
# Shifts and bits
rol     b/m 1        | D0 /0 MC                   | -
rol     b/m i8       | C0 /0 ib MI                | -
rol     b/m cl       | D2 /0 MC                   | -
rol     wdq/m 1      | D1 /0 MC                   | -
rol     wdq/m i8     | C1 /0 ib MI                | -
rol     wdq/m cl     | D3 /0 MC                   | -
ror     b/m 1        | D0 /1 MC                   | -
ror     b/m i8       | C0 /1 ib MI                | -
ror     b/m cl       | D2 /1 MC                   | -
ror     wdq/m 1      | D1 /1 MC                   | -
ror     wdq/m i8     | C1 /1 ib MI                | -
ror     wdq/m cl     | D3 /1 MC                   | -
shl     b/m 1        | D0 /4 MC                   | -
shl     b/m i8       | C0 /4 ib MI                | -
shl     b/m cl       | D2 /4 MC                   | -
shl     wdq/m 1      | D1 /4 MC                   | -
shl     wdq/m i8     | C1 /4 ib MI                | -
shl     wdq/m cl     | D3 /4 MC                   | -
shr     b/m 1        | D0 /5 MC                   | -
shr     b/m i8       | C0 /5 ib MI                | -
shr     b/m cl       | D2 /5 MC                   | -
shr     wdq/m 1      | D1 /5 MC                   | -
shr     wdq/m i8     | C1 /5 ib MI                | -
shr     wdq/m cl     | D3 /5 MC                   | -
sar     b/m 1        | D0 /7 MC                   | -
sar     b/m i8       | C0 /7 ib MI                | -
sar     b/m cl       | D2 /7 MC                   | -
sar     wdq/m 1      | D1 /7 MC                   | -
sar     wdq/m i8     | C1 /7 ib MI                | -
sar     wdq/m cl     | D3 /7 MC                   | -
shld    wdq/m wdq i8 | 0F A4 /r ib MRI            | -
shld    wdq/m wdq cl | 0F A5 /r MRC               | -
shrd    wdq/m wdq i8 | 0F AC /r ib MRI            | -
shrd    wdq/m wdq cl | 0F AD /r MRC               | -
bt      wdq/m wdq    | 0F A3 /r MR                | -
bt      wdq/m i8     | 0F BA /4 ib MI             | -
bts     wdq/m wdq    | 0F AB /r MR                | -
bts     wdq/m i8     | 0F BA /5 ib MI             | -
btr     wdq/m wdq    | 0F B3 /r MR                | -
btr     wdq/m i8     | 0F BA /6 ib MI             | -
btc     wdq/m wdq    | 0F BB /r MR                | -
btc     wdq/m i8     | 0F BA /7 ib MI             | -
bsf     wdq wdq/m    | 0F BC /r RM                | -
bsr     wdq wdq/m    | 0F BD /r RM                | -
popcnt  wdq wdq/m    | F3 0F B8 /r RM             | popcnt
tzcnt   wdq wdq/m    | F3 0F BC /r RM             | bmi
lzcnt   wdq wdq/m    | F3 0F BD /r RM             | lzcnt
andn    dq dq dq/m   | VEX.0F38.W F2 /r RVM       | bmi
bextr   dq dq/m dq   | VEX.0F38.W F7 /r RMV       | bmi
blsr    dq dq/m      | VEX.0F38.W F3 /1 VM        | bmi
blsmsk  dq dq/m      | VEX.0F38.W F3 /2 VM        | bmi
blsi    dq dq/m      | VEX.0F38.W F3 /3 VM        | bmi
bzhi    dq dq/m dq   | VEX.0F38.W F5 /r RMV       | bmi2
pdep    dq dq dq/m   | VEX.F2.0F38.W F5 /r RVM    | bmi2
pext    dq dq dq/m   | VEX.F3.0F38.W F5 /r RVM    | bmi2
mulx    dq dq dq/m   | VEX.F2.0F38.W F6 /r RVM    | bmi2
rorx    dq dq/m i8   | VEX.F2.0F3A.W F0 /r ib RMI | bmi2
shlx    dq dq/m dq   | VEX.66.0F38.W F7 /r RMV    | bmi2
shrx    dq dq/m dq   | VEX.F2.0F38.W F7 /r RMV    | bmi2
sarx    dq dq/m dq   | VEX.F3.0F38.W F7 /r RMV    | bmi2
"""
