"""Schedules of contractions: families that propose plans, blocking that makes schedules of them, the choice by cost.

Where to look, in the order of a choice:

    setting                       what is asked about a contraction before anything is proposed
    plan                          the few decisions by which schedules differ
    families, variations          which plans are proposed; those of large input, along inputs, fused rows have files
    blocks/, blocking             from a plan to block sizes, then to loops and packs: a schedule
    proposals                     a schedule with its family, and with its cost
    pairs, complex_proposals      contractions of complex numbers as those of reals; along sums, short runs are theirs
    narrow, groups, outer         types that are widened, multiplied in groups, by outer products or by matrix tiles
    choose                        the order in which proposals are costed, and the pass
"""
