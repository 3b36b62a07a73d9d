"""AMX: tiles of up to 16 rows of 64 bytes, their configuration and products. The notation: `einloom.asm.x86.forms`.

An address of a tile is base + index: the first row, and how far the next one lies from it.
"""

ROWS = """\
ldtilecfg   m512  | VEX.0F38.L0.W0 49 /0 M       | amxtile
sttilecfg   m512  | VEX.66.0F38.L0.W0 49 /0 M    | amxtile
tilerelease       | VEX.0F38.L0.W0 49 C0         | amxtile
tilezero    t     | VEX.F2.0F38.L0.W0 49 /r R    | amxtile
tileloadd   t m   | VEX.F2.0F38.L0.W0 4B /r RM   | amxtile
tileloaddt1 t m   | VEX.66.0F38.L0.W0 4B /r RM   | amxtile
tilestored  m t   | VEX.F3.0F38.L0.W0 4B /r MR   | amxtile
tdpbf16ps   t t t | VEX.F3.0F38.L0.W0 5C /r RMV  | amxbf16
tdpbssd     t t t | VEX.F2.0F38.L0.W0 5E /r RMV  | amxint8
tdpbsud     t t t | VEX.F3.0F38.L0.W0 5E /r RMV  | amxint8
tdpbusd     t t t | VEX.66.0F38.L0.W0 5E /r RMV  | amxint8
tdpbuud     t t t | VEX.0F38.L0.W0 5E /r RMV     | amxint8
tdpfp16ps   t t t | VEX.F2.0F38.L0.W0 5C /r RMV  | amxfp16
"""
