"""How far the blocks of a contraction reach along each axis, sized for the caches: what a plan leaves open.

In the order in which a plan is decided:

    sides      the inputs, the axes that they share, and the sizes that suit a machine: the same for all plans
    rows       how many rows are read at once where they lie
    shared     how far blocks reach along the axes that are summed, and along those that both inputs have
    staged     whether the output may be computed in scratch, and how far its blocks and tiles reach
    steps      how far a block of one input reaches along the input's own axes
    turned     blocks of both inputs where the output alone is copied, and turned
    decided    blocks of both inputs elsewhere; `blocks_of` returns all that is decided

`blocking` puts loops and packs around them.
"""
