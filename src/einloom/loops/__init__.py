"""Loop strings: one text chooses the order, the blocks and the parallelisation of loops that are declared once.

`grammar` holds the text as a value, `parse` reads it, `nest` applies it to `LoopSpec`s, `walk` says what it means.
"""
