# SPDX-License-Identifier: GPL-3.0-or-later
"""Policies for virtbed in Python, and what its runs recorded.

    from virtbed import Mapping, Policy, run

    class MyPolicy(Policy):
        def decide(self, snapshot):
            mapping = Mapping(snapshot)
            for task in mapping.tasks:
                for option in task.options:
                    if mapping.allows(option):
                        mapping.place(task, option)
                        break
            return mapping.actions

    if __name__ == "__main__":
        run(MyPolicy())

is a whole program: `virtbed simulate CONFIG --policy exec:./my_policy.py`. Modules: policy (run),
snapshot (what a policy sees), actions (what it answers), mapping and schedule (tools), rank (how
values are compared), text (JSON as virtbed writes it), rundir (tables of a run directory),
tables (public tables of jobs with their power, as traces). Nothing beyond Python's own library is
needed. docs/reference/python.md has all of it with examples.
"""
from virtbed.mapping import Mapping
from virtbed.policy import Policy, run
from virtbed.snapshot import Snapshot

__all__ = ["Mapping", "Policy", "Snapshot", "run"]
