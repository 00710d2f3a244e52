#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Least Energy: in order of arrival, every task on the option that needs the fewest joules."""
from virtbed import Mapping, Policy, run


class LeastEnergy(Policy):
    name = "least-energy"
    models = ["nodes"]

    def decide(self, snapshot):
        mapping = Mapping(snapshot)
        for task in mapping.tasks:
            options = [option for option in task.options if mapping.allows(option)]
            if options:
                best = min(options, key=lambda option: option.eec_j)
                mapping.place(task, best, objective=-best.eec_j)
        return mapping.actions


if __name__ == "__main__":
    run(LeastEnergy())
