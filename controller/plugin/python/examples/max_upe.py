#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Max UPE (Machovec 2018, 3.5, equation (5)): always the option with the highest utility per joule
of all mappable tasks, clusters and P-states. The twin of `max-upe`: its plans are those of that
policy, byte for byte.

usage: max_upe.py [--drop UTILITY] [--reservations]

Placements only take nodes away, so that starts only move later and values only fall. So options
wait in a heap, ordered by values that may be out of date, which are upper bounds: only the one on
top is brought up to date, and the decisions are those of a full look after every placement.
"""
import argparse
import heapq
from math import inf

from virtbed import Mapping, Policy, rank, run


def per_joule(utility, option):
    return utility / option.eec_j if option.eec_j > 0 else inf


class MaxUpe(Policy):
    name = "max-upe"
    models = ["nodes"]

    def __init__(self, drop_below=None, future="placeholder"):
        self.drop_below = drop_below
        self.future = future

    def decide(self, snapshot):
        mapping = Mapping(snapshot, self.future, self.drop_below)
        heap = self.options(mapping)
        placed = set()
        while heap:
            _, index, at, version = heapq.heappop(heap)
            task = mapping.tasks[index]
            option = task.options[at]
            if index in placed or not mapping.affords(option):
                continue  # what cannot be placed now cannot be placed later in the event
            start_s = mapping.start_s(option)
            utility = task.utility_at(start_s + option.etc_s) if start_s < snapshot.end_s else 0
            if utility <= 0:
                continue
            value = per_joule(utility, option)
            present = mapping.schedule(option.cluster).version
            if version != present:
                heapq.heappush(heap, (-rank.key(value), index, at, present))
                continue
            mapping.place(task, option, value, reason="best-upe")
            placed.add(index)
        return mapping.actions

    def options(self, mapping):
        """A heap of all options, each with its value if it started now; ties go to the earlier
        task, then the earlier option."""
        now_s = mapping.snapshot.now_s
        heap = []
        for index, task in enumerate(mapping.tasks):
            for at, option in enumerate(task.options):
                utility = task.utility_at(now_s + option.etc_s)
                if utility > 0:
                    value = per_joule(utility, option)
                    heap.append((-rank.key(value), index, at, None))
        heapq.heapify(heap)
        return heap


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--drop", type=float, metavar="UTILITY", help="drop what earns less")
    arguments.add_argument("--reservations", action="store_true", help="starts stay as planned")
    given = arguments.parse_args()
    run(MaxUpe(given.drop, "reserve" if given.reservations else "placeholder"))
