# SPDX-License-Identifier: GPL-3.0-or-later
"""A mapping event in progress: the tools with which virtbed's own policies plan starts
(controller/sched/mapping.h), for tasks that have nodes of their own."""
from math import inf

from virtbed import actions, rank
from virtbed.schedule import mask_of


class Mapping:
    """The schedule of every cluster, which changes as tasks are placed; `tasks`, the tasks to map;
    `actions`, the plan so far.

    It begins by dropping what is worthless: tasks that could earn nothing even if they started now
    where they are fastest, or less than `drop_below` if that is given (Machovec 2018, 3.3). `tasks`
    has the others, in the order of the snapshot.

    `future` is what becomes of a task whose nodes are free later only: "placeholder", a start that
    the next mapping event plans again, or "reserve", a start that no later event moves. Where the
    model is "immediate" there is neither, and such tasks wait."""

    def __init__(self, snapshot, future="placeholder", drop_below=None):
        self.snapshot = snapshot
        model = snapshot.system.model
        if model not in ("nodes", "immediate"):
            raise ValueError("a Mapping gives tasks nodes of their own, and the model of this "
                             f"system is \"{model}\"")
        self._latest_s = snapshot.now_s if model == "immediate" else inf
        self.actions = []
        self.tasks = []
        self._future = {"placeholder": actions.placeholder, "reserve": actions.reserve}[future]
        self._schedules = {}
        self._starts = {}  # per option: the version of the schedule, the step and its time
        for task in snapshot.waiting:
            bound = task.utility_at(snapshot.now_s + task.type.etc_min_s)
            if bound > 0 if drop_below is None else rank.compare(bound, drop_below) >= 0:
                self.tasks.append(task)
            else:
                reason = "threshold" if bound > 0 else "worthless"
                self.actions.append(actions.drop(task, objective=bound, reason=reason))
        self._gate = snapshot.gate and snapshot.budget_j < inf
        self._remaining_j = self._energy_left_j() if self._gate and self.tasks else inf

    def _energy_left_j(self):
        """Of the budget, less what tasks that run or have a reservation will still use."""
        snapshot = self.snapshot
        committed_j = 0.0
        for running in snapshot.running:
            committed_j += running.energy_left_j(snapshot.now_s)
        for planned in snapshot.reservations:
            option = planned.option
            committed_j += option.eec_j if option else 0.0
        return snapshot.budget_j - snapshot.consumed_j - committed_j

    def schedule(self, cluster):
        """When which nodes of a cluster are free, by the plan so far."""
        schedule = self._schedules.get(cluster.index)
        if schedule is None:
            schedule = self._schedules[cluster.index] = self.snapshot.schedule(cluster)
        return schedule

    def _step(self, option):
        schedule = self.schedule(option.cluster)
        known = self._starts.get(option)
        if known is None or known[0] != schedule.version:
            after_s = known[2] if known else -inf
            step = schedule.earliest(option.nodes, option.etc_s, after_s)
            start_s = inf if step is None else schedule.times_s[step]
            known = self._starts[option] = (schedule.version, step, start_s)
        return schedule, known[1]

    def start_s(self, option):
        """The earliest start of an option by the plan so far; math.inf: never."""
        schedule, step = self._step(option)
        return inf if step is None else schedule.times_s[step]

    def affords(self, option):
        """Whether the energy that remains is enough for the option."""
        if not self._gate:
            return True
        budget_j = self.snapshot.budget_j
        return not rank.above(budget_j - self._remaining_j + option.eec_j, budget_j)

    def allows(self, option):
        """Whether a task may be placed by the option: there is energy for it, it starts before the
        end of the budget's period, and where no start is planned, now."""
        if not self.affords(option):
            return False
        start_s = self.start_s(option)
        return start_s < self.snapshot.end_s and start_s <= self._latest_s

    def place(self, task, option, objective=0.0, **more):
        """Places a task by an option at its earliest start, which must be finite: adds a start, or
        where that is later than now what `future` says, and takes the nodes. `objective` and
        further keys, such as reason="first", are recorded with the action, which is returned."""
        schedule, step = self._step(option)
        start_s = schedule.times_s[step]
        end_s = start_s + option.etc_s
        nodes = schedule.choose(step, option.nodes, option.etc_s)
        schedule.take(mask_of(nodes), start_s, end_s)
        self._remaining_j -= option.eec_j
        more.update(end_s=end_s, energy_j=option.eec_j, utility=task.utility_at(end_s),
                    objective=objective)
        if start_s > self.snapshot.now_s:
            action = self._future(task, option, nodes, start_s, **more)
        else:
            action = actions.start(task, option, nodes, start_s=start_s, **more)
        self.actions.append(action)
        return action
