"""Integer instructions on general registers. Notation: see `einloom.asm.aarch64.row`."""

ROWS = """
# Add and subtract: immediate, immediate shifted by 12, shifted register, extended register.
add   Rd|SP Rn|SP #imm12                     | sf 0 0 100010 sh imm:12 n:5 d:5
add   Rd|SP Rn|SP #u12 lsl                   | sf 0 0 100010 sh imm:12 n:5 d:5
add   Rd Rn Rm {lsl/lsr/asr}                 | sf 0 0 01011 shift:2 0 m:5 amount:6 n:5 d:5
add   Rd|SP Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 0 0 01011 00 1 m:5 option:3 amount:3 n:5 d:5
add   Xd|SP Xn|SP Xm uxtx/sxtx               | 1 0 0 01011 00 1 m:5 option:3 amount:3 n:5 d:5
add   Xd|SP Xn|SP Xm {lsl}                   | 1 0 0 01011 00 1 m:5 011 amount:3 n:5 d:5
add   Wd|SP Wn|SP Wm {lsl}                   | 0 0 0 01011 00 1 m:5 010 amount:3 n:5 d:5
adds  Rd Rn|SP #imm12                        | sf 0 1 100010 sh imm:12 n:5 d:5
adds  Rd Rn|SP #u12 lsl                      | sf 0 1 100010 sh imm:12 n:5 d:5
adds  Rd Rn Rm {lsl/lsr/asr}                 | sf 0 1 01011 shift:2 0 m:5 amount:6 n:5 d:5
adds  Rd Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 0 1 01011 00 1 m:5 option:3 amount:3 n:5 d:5
adds  Xd Xn|SP Xm uxtx/sxtx                  | 1 0 1 01011 00 1 m:5 option:3 amount:3 n:5 d:5
adds  Xd Xn|SP Xm {lsl}                      | 1 0 1 01011 00 1 m:5 011 amount:3 n:5 d:5
adds  Wd Wn|SP Wm {lsl}                      | 0 0 1 01011 00 1 m:5 010 amount:3 n:5 d:5
sub   Rd|SP Rn|SP #imm12                     | sf 1 0 100010 sh imm:12 n:5 d:5
sub   Rd|SP Rn|SP #u12 lsl                   | sf 1 0 100010 sh imm:12 n:5 d:5
sub   Rd Rn Rm {lsl/lsr/asr}                 | sf 1 0 01011 shift:2 0 m:5 amount:6 n:5 d:5
sub   Rd|SP Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 1 0 01011 00 1 m:5 option:3 amount:3 n:5 d:5
sub   Xd|SP Xn|SP Xm uxtx/sxtx               | 1 1 0 01011 00 1 m:5 option:3 amount:3 n:5 d:5
sub   Xd|SP Xn|SP Xm {lsl}                   | 1 1 0 01011 00 1 m:5 011 amount:3 n:5 d:5
sub   Wd|SP Wn|SP Wm {lsl}                   | 0 1 0 01011 00 1 m:5 010 amount:3 n:5 d:5
subs  Rd Rn|SP #imm12                        | sf 1 1 100010 sh imm:12 n:5 d:5
subs  Rd Rn|SP #u12 lsl                      | sf 1 1 100010 sh imm:12 n:5 d:5
subs  Rd Rn Rm {lsl/lsr/asr}                 | sf 1 1 01011 shift:2 0 m:5 amount:6 n:5 d:5
subs  Rd Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 1 1 01011 00 1 m:5 option:3 amount:3 n:5 d:5
subs  Xd Xn|SP Xm uxtx/sxtx                  | 1 1 1 01011 00 1 m:5 option:3 amount:3 n:5 d:5
subs  Xd Xn|SP Xm {lsl}                      | 1 1 1 01011 00 1 m:5 011 amount:3 n:5 d:5
subs  Wd Wn|SP Wm {lsl}                      | 0 1 1 01011 00 1 m:5 010 amount:3 n:5 d:5
cmn   Rn|SP #imm12                           | sf 0 1 100010 sh imm:12 n:5 11111
cmn   Rn|SP #u12 lsl                         | sf 0 1 100010 sh imm:12 n:5 11111
cmn   Rn Rm {lsl/lsr/asr}                    | sf 0 1 01011 shift:2 0 m:5 amount:6 n:5 11111
cmn   Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 0 1 01011 00 1 m:5 option:3 amount:3 n:5 11111
cmp   Rn|SP #imm12                           | sf 1 1 100010 sh imm:12 n:5 11111
cmp   Rn|SP #u12 lsl                         | sf 1 1 100010 sh imm:12 n:5 11111
cmp   Rn Rm {lsl/lsr/asr}                    | sf 1 1 01011 shift:2 0 m:5 amount:6 n:5 11111
cmp   Rn|SP Wm uxtb/uxth/uxtw/sxtb/sxth/sxtw | sf 1 1 01011 00 1 m:5 option:3 amount:3 n:5 11111
cmp   Xn|SP Xm uxtx/sxtx                     | 1 1 1 01011 00 1 m:5 option:3 amount:3 n:5 11111
cmp   Xn|SP Xm {lsl}                         | 1 1 1 01011 00 1 m:5 011 amount:3 n:5 11111
neg   Rd Rm {lsl/lsr/asr}                    | sf 1 0 01011 shift:2 0 m:5 amount:6 11111 d:5
negs  Rd Rm {lsl/lsr/asr}                    | sf 1 1 01011 shift:2 0 m:5 amount:6 11111 d:5
adc   Rd Rn Rm                               | sf 0 0 11010000 m:5 000000 n:5 d:5
adcs  Rd Rn Rm                               | sf 0 1 11010000 m:5 000000 n:5 d:5
sbc   Rd Rn Rm                               | sf 1 0 11010000 m:5 000000 n:5 d:5
sbcs  Rd Rn Rm                               | sf 1 1 11010000 m:5 000000 n:5 d:5

# Logical: bitmask immediate, shifted register.
and   Rd|SP Rn #bitmask                      | sf 00 100100 N immr:6 imms:6 n:5 d:5
and   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 00 01010 shift:2 0 m:5 amount:6 n:5 d:5
bic   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 00 01010 shift:2 1 m:5 amount:6 n:5 d:5
orr   Rd|SP Rn #bitmask                      | sf 01 100100 N immr:6 imms:6 n:5 d:5
orr   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 01 01010 shift:2 0 m:5 amount:6 n:5 d:5
orn   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 01 01010 shift:2 1 m:5 amount:6 n:5 d:5
eor   Rd|SP Rn #bitmask                      | sf 10 100100 N immr:6 imms:6 n:5 d:5
eor   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 10 01010 shift:2 0 m:5 amount:6 n:5 d:5
eon   Rd Rn Rm {lsl/lsr/asr/ror}             | sf 10 01010 shift:2 1 m:5 amount:6 n:5 d:5
ands  Rd Rn #bitmask                         | sf 11 100100 N immr:6 imms:6 n:5 d:5
ands  Rd Rn Rm {lsl/lsr/asr/ror}             | sf 11 01010 shift:2 0 m:5 amount:6 n:5 d:5
bics  Rd Rn Rm {lsl/lsr/asr/ror}             | sf 11 01010 shift:2 1 m:5 amount:6 n:5 d:5
tst   Rn #bitmask                            | sf 11 100100 N immr:6 imms:6 n:5 11111
tst   Rn Rm {lsl/lsr/asr/ror}                | sf 11 01010 shift:2 0 m:5 amount:6 n:5 11111
mvn   Rd Rm {lsl/lsr/asr/ror}                | sf 01 01010 shift:2 1 m:5 amount:6 11111 d:5

# Move: the first of movz, movn, bitmask that fits; register; to and from the stack pointer.
mov   Rd #movz                               | sf 10 100101 hw:2 imm:16 d:5
mov   Rd #movn                               | sf 00 100101 hw:2 imm:16 d:5
mov   Rd|SP #bitmask                         | sf 01 100100 N immr:6 imms:6 11111 d:5
mov   Rd Rm                                  | sf 01 01010 000 m:5 000000 11111 d:5
mov   Rd|SP Rn|SP                            | sf 00 100010 0 000000000000 n:5 d:5
movn  Rd #u16 {lsl}                          | sf 00 100101 hw:2 imm:16 d:5
movz  Rd #u16 {lsl}                          | sf 10 100101 hw:2 imm:16 d:5
movk  Rd #u16 {lsl}                          | sf 11 100101 hw:2 imm:16 d:5
adr   Xd label                               | 0 low:2 10000 offset:19 d:5
adrp  Xd page                                | 1 low:2 10000 offset:19 d:5

# Shifts and bit fields.
lsl   Rd Rn #lsl                             | sf 10 100110 sf immr:6 imms:6 n:5 d:5
lsr   Rd Rn #immr                            | sf 10 100110 sf immr:6 sf 11111 n:5 d:5
asr   Rd Rn #immr                            | sf 00 100110 sf immr:6 sf 11111 n:5 d:5
ror   Rd Rn,m #imms                          | sf 00 100111 sf 0 m:5 imms:6 n:5 d:5
lsl   Rd Rn Rm                               | sf 0 0 11010110 m:5 001000 n:5 d:5
lsr   Rd Rn Rm                               | sf 0 0 11010110 m:5 001001 n:5 d:5
asr   Rd Rn Rm                               | sf 0 0 11010110 m:5 001010 n:5 d:5
ror   Rd Rn Rm                               | sf 0 0 11010110 m:5 001011 n:5 d:5
extr  Rd Rn Rm #imms                         | sf 00 100111 sf 0 m:5 imms:6 n:5 d:5
sbfm  Rd Rn #immr #imms                      | sf 00 100110 sf immr:6 imms:6 n:5 d:5
bfm   Rd Rn #immr #imms                      | sf 01 100110 sf immr:6 imms:6 n:5 d:5
ubfm  Rd Rn #immr #imms                      | sf 10 100110 sf immr:6 imms:6 n:5 d:5
sbfx  Rd Rn #immr #extract                   | sf 00 100110 sf immr:6 imms:6 n:5 d:5
bfxil Rd Rn #immr #extract                   | sf 01 100110 sf immr:6 imms:6 n:5 d:5
ubfx  Rd Rn #immr #extract                   | sf 10 100110 sf immr:6 imms:6 n:5 d:5
sbfiz Rd Rn #to #insert                      | sf 00 100110 sf immr:6 imms:6 n:5 d:5
bfi   Rd Rn #to #insert                      | sf 01 100110 sf immr:6 imms:6 n:5 d:5
ubfiz Rd Rn #to #insert                      | sf 10 100110 sf immr:6 imms:6 n:5 d:5
sxtb  Rd Wn                                  | sf 00 100110 sf 000000 000111 n:5 d:5
sxth  Rd Wn                                  | sf 00 100110 sf 000000 001111 n:5 d:5
sxtw  Xd Wn                                  | 1 00 100110 1 000000 011111 n:5 d:5
uxtb  Wd Wn                                  | 0 10 100110 0 000000 000111 n:5 d:5
uxth  Wd Wn                                  | 0 10 100110 0 000000 001111 n:5 d:5
uxtw  Xd Wn                                  | 1 10 100110 1 000000 011111 n:5 d:5

# Count, reverse.
clz   Rd Rn                                  | sf 1 0 11010110 00000 000100 n:5 d:5
cls   Rd Rn                                  | sf 1 0 11010110 00000 000101 n:5 d:5
rbit  Rd Rn                                  | sf 1 0 11010110 00000 000000 n:5 d:5
rev16 Rd Rn                                  | sf 1 0 11010110 00000 000001 n:5 d:5
rev32 Xd Xn                                  | 1 1 0 11010110 00000 000010 n:5 d:5
rev   Rd Rn                                  | sf 1 0 11010110 00000 00001 sf n:5 d:5

# Multiply and divide.
madd   Rd Rn Rm Ra                           | sf 00 11011 000 m:5 0 a:5 n:5 d:5
msub   Rd Rn Rm Ra                           | sf 00 11011 000 m:5 1 a:5 n:5 d:5
mul    Rd Rn Rm                              | sf 00 11011 000 m:5 0 11111 n:5 d:5
mneg   Rd Rn Rm                              | sf 00 11011 000 m:5 1 11111 n:5 d:5
smaddl Xd Wn Wm Xa                           | 1 00 11011 001 m:5 0 a:5 n:5 d:5
smsubl Xd Wn Wm Xa                           | 1 00 11011 001 m:5 1 a:5 n:5 d:5
smull  Xd Wn Wm                              | 1 00 11011 001 m:5 0 11111 n:5 d:5
smnegl Xd Wn Wm                              | 1 00 11011 001 m:5 1 11111 n:5 d:5
umaddl Xd Wn Wm Xa                           | 1 00 11011 101 m:5 0 a:5 n:5 d:5
umsubl Xd Wn Wm Xa                           | 1 00 11011 101 m:5 1 a:5 n:5 d:5
umull  Xd Wn Wm                              | 1 00 11011 101 m:5 0 11111 n:5 d:5
umnegl Xd Wn Wm                              | 1 00 11011 101 m:5 1 11111 n:5 d:5
smulh  Xd Xn Xm                              | 1 00 11011 010 m:5 0 11111 n:5 d:5
umulh  Xd Xn Xm                              | 1 00 11011 110 m:5 0 11111 n:5 d:5
udiv   Rd Rn Rm                              | sf 0 0 11010110 m:5 000010 n:5 d:5
sdiv   Rd Rn Rm                              | sf 0 0 11010110 m:5 000011 n:5 d:5

# Conditional select and compare. `!cond` encodes the inverted condition.
csel  Rd Rn Rm cond                          | sf 0 0 11010100 m:5 cond:4 00 n:5 d:5
csinc Rd Rn Rm cond                          | sf 0 0 11010100 m:5 cond:4 01 n:5 d:5
csinv Rd Rn Rm cond                          | sf 1 0 11010100 m:5 cond:4 00 n:5 d:5
csneg Rd Rn Rm cond                          | sf 1 0 11010100 m:5 cond:4 01 n:5 d:5
cset  Rd !cond                               | sf 0 0 11010100 11111 cond:4 01 11111 d:5
csetm Rd !cond                               | sf 1 0 11010100 11111 cond:4 00 11111 d:5
cinc  Rd Rn,m !cond                          | sf 0 0 11010100 m:5 cond:4 01 n:5 d:5
cinv  Rd Rn,m !cond                          | sf 1 0 11010100 m:5 cond:4 00 n:5 d:5
cneg  Rd Rn,m !cond                          | sf 1 0 11010100 m:5 cond:4 01 n:5 d:5
ccmn  Rn Rm #nzcv cond                       | sf 0 1 11010010 m:5 cond:4 00 n:5 0 nzcv:4
ccmn  Rn #u5 #nzcv cond                      | sf 0 1 11010010 imm:5 cond:4 10 n:5 0 nzcv:4
ccmp  Rn Rm #nzcv cond                       | sf 1 1 11010010 m:5 cond:4 00 n:5 0 nzcv:4
ccmp  Rn #u5 #nzcv cond                      | sf 1 1 11010010 imm:5 cond:4 10 n:5 0 nzcv:4
"""
