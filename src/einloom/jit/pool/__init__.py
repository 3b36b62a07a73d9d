"""The pool: how a job of a team is published, taken share by share, and ended, by callers and workers; as machine code.

`layout` says what lies in its memory, `caller` and `worker` emit what threads do, `code` puts it together. All that is
pure: addresses come in as numbers, so that the code for either ISA can be made and checked anywhere. What owns the
memory, and who calls the code, is in `einloom.jit.threads`.

Work is `void entry(void *arguments, int64 thread, int64 threads)`, which does share `thread` of `threads`. A caller
puts its job into a slot of its own, does share 0, takes others, and returns when all are done. Workers look at all
slots, take shares where there are any, and sleep when there have been none for a while. What holds:

1. Shares from 1 on are taken by lowering UNTAKEN, in one step, from a number above 0. So each is taken once. Share 0 is
   always the caller's, so that what a core of two has in its caches from one call to the next is its own.
2. ENTRY, ARGUMENTS, THREADS and ROUNDING are written before UNTAKEN is raised from below 1 and stay until the job has
   ended. Who has taken a share reads them after that, and signs off, by lowering UNFINISHED, when it has done its
   shares. The job has ended when UNFINISHED has come to 0: so whoever holds a share keeps the job, and nobody else
   touches it.
3. Slots themselves are there for ever. A worker that comes late may lower UNTAKEN of a slot whose job has ended: it is
   below 1, so nothing is taken, and the next job overwrites it. If the next job has been published meanwhile, it has
   taken a share of that one, whose words it reads only then.
4. Nobody waits for a share that nobody has begun: the caller takes shares until none is left, and waits only for those
   that others are in the middle of. So workers that are late, busy, or not there at all cost nothing but time; without
   a free slot, the caller does everything by itself.
5. No job is overlooked. A worker adds itself to SLEEPERS, reads BELL, looks at the slots once more, and sleeps only if
   BELL is still what it was. A caller publishes its job, then reads SLEEPERS, and if there are any changes BELL and
   wakes them. One of the two sees what the other has written, since each looks after it has written.
6. Workers compute as the caller does, with its roundings, and with zeros for the smallest numbers if it has them
   (ROUNDING): results do not depend on who has done which share.
7. Memory that is zero, but for what lies in front of it, is a pool without workers and jobs. A forked child, where
   there are none, finds that: whoever forked, the system wipes the page.

Shares that run *together* wait for each other. Their jobs have the first slot, which workers look at first, one job at
a time, and as many workers as there are other shares. As all other shares come to an end without waiting, all workers
come there in time. No share starts such a job: its thread may be one of the workers that are counted on.
"""
