# SPDX-License-Identifier: GPL-3.0-or-later
"""When which nodes of a cluster are free: a step function from time to a set of nodes, from the
present on (controller/sched/availability.h). Sets are integers, a bit for each node.

Machovec 2018, section 3.7: a task starts at the earliest time at which enough nodes are free for
its whole execution, on the nodes whose idle time is cut up least.
"""
from bisect import bisect_left, bisect_right
from math import inf


def mask_of(nodes):
    """The set of these nodes."""
    mask = 0
    for node in nodes:
        mask |= 1 << node
    return mask


def nodes_of(mask):
    """The nodes of a set, ascending."""
    nodes = []
    while mask:
        lowest = mask & -mask
        nodes.append(lowest.bit_length() - 1)
        mask ^= lowest
    return nodes


class Schedule:
    """The free nodes of a cluster from `now_s` on; all are free until some are taken."""

    def __init__(self, nodes, now_s):
        self.now_s = now_s
        self.times_s = [now_s]            # when each step begins
        self.free = [(1 << nodes) - 1]    # the nodes that are free in each step
        self.counts = [nodes]             # how many these are
        self.version = 0                  # counts the changes
        self._rising = 0                  # from this step on nodes only become free

    def hold(self, holds):
        """Takes nodes from now on, where nothing is taken yet: pairs of a time until which, above
        now_s, and a set of nodes."""
        free = self.free[0]
        times_s, frees = [], []
        for end_s, mask in sorted(holds, key=lambda hold: -hold[0]):
            if not times_s or times_s[-1] != end_s:
                times_s.append(end_s)
                frees.append(free)
            free &= ~mask
        self.times_s = [self.now_s] + times_s[::-1]
        self.free = [free] + frees[::-1]
        self.counts = [mask.bit_count() for mask in self.free]
        self.version += 1

    def take(self, mask, start_s, end_s):
        """Takes a set of nodes for [start_s, end_s); what lies before now_s is cut off. Nodes that
        are taken already stay so. end_s may be inf."""
        start_s = max(start_s, self.now_s)
        if not end_s > start_s or not mask:
            return
        first = self._split(start_s)
        last = len(self.free) if end_s == inf else self._split(end_s)
        for step in range(first, last):
            self.free[step] &= ~mask
            self.counts[step] = self.free[step].bit_count()
        self._rising = max(self._rising, first)
        self.version += 1

    def _split(self, time_s):
        """The step that begins at a time, split off if need be."""
        step = bisect_right(self.times_s, time_s)
        if self.times_s[step - 1] == time_s:
            return step - 1
        self.times_s.insert(step, time_s)
        self.free.insert(step, self.free[step - 1])
        self.counts.insert(step, self.counts[step - 1])
        self._rising += self._rising >= step
        return step

    def free_at(self, time_s):
        """The set of nodes that are free at a time, from now_s on."""
        return self.free[bisect_right(self.times_s, time_s) - 1]

    def common(self, step, width, duration_s):
        """The nodes that are free from the beginning of a step for `duration_s`, or None if there
        are fewer than `width`."""
        if self.counts[step] < width:
            return None
        end_s = self.times_s[step] + duration_s
        common = self.free[step]
        for i in range(step + 1, self._rising + 1):
            if self.times_s[i] >= end_s:
                break
            common &= self.free[i]
            if common.bit_count() < width:
                return None
        return common

    def earliest(self, width, duration_s, after_s=-inf):
        """The first step at whose beginning `width` nodes are free for `duration_s`; None: never.
        times_s of it is the earliest start: within a step no node becomes free. `after_s` is where
        to begin, if a former answer is known: as nodes are taken, starts only move later."""
        counts = self.counts
        for step in range(bisect_left(self.times_s, after_s), len(counts)):
            if counts[step] >= width and (step >= self._rising or
                                          self.common(step, width, duration_s) is not None):
                return step
        return None

    def choose(self, step, width, duration_s):
        """The nodes to take from the beginning of a step for `duration_s`, ascending: those that
        create the fewest idle voids, then fill the smallest one, then the lowest numbers. A void is
        a gap between two tasks of a node, or between now and its first task; an open end is
        none."""
        common = self.common(step, width, duration_s)
        if common.bit_count() == width:
            return nodes_of(common)
        chosen = []
        sets = self._candidates(step, common, duration_s)
        for merit in sorted(sets):
            chosen += nodes_of(sets[merit])[:width - len(chosen)]
            if len(chosen) == width:
                break
        return sorted(chosen)

    def _candidates(self, step, common, duration_s):
        """Sets of equal merit: by voids created and size of the void filled."""
        start_s = self.times_s[step]
        end_s = start_s + duration_s
        sets = {}

        def add(mask, before_s, after_s):
            voids = (start_s > before_s) + (after_s is not None and after_s > end_s)
            size_s = (start_s if after_s is None else after_s) - before_s
            sets[voids, size_s] = sets.get((voids, size_s), 0) | mask

        def sort_before(mask, after_s):
            """By when they became free."""
            for before in range(step, 0, -1):
                if not mask:
                    return
                moved = mask & ~self.free[before - 1]
                mask &= self.free[before - 1]
                if moved:
                    add(moved, self.times_s[before], after_s)
            if mask:
                add(mask, self.times_s[0], after_s)

        for after in range(step + 1, self._rising + 1):
            if self.times_s[after] >= end_s:
                moved = common & ~self.free[after]
                common &= self.free[after]
                if moved:
                    sort_before(moved, self.times_s[after])
        sort_before(common, None)
        return sets
