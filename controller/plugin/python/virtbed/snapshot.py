# SPDX-License-Identifier: GPL-3.0-or-later
"""What a policy sees at a mapping event, as objects: docs/reference/snapshot.md, key by key.

    from virtbed import Snapshot
    snapshot = Snapshot.load("snapshot.json")
    for task in snapshot.waiting:
        print(task.id, task.type.name, task.utility_at(snapshot.now_s + 600))

Times are seconds since the start of the run, energies joules; what is null there is `math.inf`
here. Lists are made of the JSON when they are first asked for. Nothing here is to be changed.
"""
import json
import random
from functools import cached_property
from math import exp, inf

from virtbed import rank, text
from virtbed.schedule import Schedule, mask_of


class Cluster:
    """A cluster of equal nodes. `index` is its place in the configured order, which breaks ties."""
    __slots__ = ("index", "name", "nodes", "cores", "pstates")

    def __init__(self, index, document):
        self.index = index
        self.name = document["name"]
        self.nodes = document["nodes"]
        self.cores = document["cores"]
        self.pstates = document["pstates"]

    def __repr__(self):
        return f"<Cluster {self.name}: {self.nodes} nodes of {self.cores} cores>"


class Option:
    """A way to run a task type: a cluster, a P-state and as many nodes, with its estimated time
    (`etc_s`) and energy (`eec_j`). `resources` is time x cores of its nodes, core-seconds."""
    __slots__ = ("cluster", "pstate", "nodes", "etc_s", "eec_j", "resources")

    def __init__(self, cluster, pstate, nodes, etc_s, eec_j):
        self.cluster = cluster
        self.pstate = pstate
        self.nodes = nodes
        self.etc_s = etc_s
        self.eec_j = eec_j
        self.resources = etc_s * nodes * cluster.cores

    def __repr__(self):
        return (f"<Option {self.cluster.name} P{self.pstate}: {self.nodes} nodes, "
                f"{self.etc_s} s, {self.eec_j} J>")


class TaskType:
    """A task type: its name, and its options in the order of clusters and P-states."""
    __slots__ = ("name", "options", "etc_min_s", "_by_place")

    def __init__(self, document, clusters):
        self.name = document["name"]
        self.options = sorted(
            (Option(clusters[option["cluster"]], option["pstate"], option["nodes"],
                    option["etc_s"], option["eec_j"]) for option in document["options"]),
            key=lambda option: (option.cluster.index, option.pstate))
        self.etc_min_s = min((option.etc_s for option in self.options), default=inf)
        self._by_place = {(option.cluster.index, option.pstate): option
                          for option in self.options}

    def option(self, cluster, pstate):
        """The option on a cluster at a P-state, or None where the type cannot run."""
        return self._by_place.get((cluster.index, pstate))

    def __repr__(self):
        return f"<TaskType {self.name}: {len(self.options)} options>"


class System:
    """The clusters, the task types by name, and the model: "nodes" (tasks have nodes of their own,
    and starts are planned), "immediate" (they start now or wait), "shared" (hosts are shared in
    time) or "queues". `document` is the JSON, with `queueing` for clusters with queues."""

    def __init__(self, document):
        self.document = document
        self.clusters = [Cluster(index, cluster)
                         for index, cluster in enumerate(document["clusters"])]
        self._by_name = {cluster.name: cluster for cluster in self.clusters}
        self.types = {entry["name"]: TaskType(entry, self._by_name) for entry in document["types"]}
        self.queueing = document.get("queueing")
        self.model = ("queues" if self.queueing else "shared" if document.get("shared") else
                      "immediate" if document.get("immediate") else "nodes")

    def cluster(self, name):
        """The cluster of that name."""
        return self._by_name[name]


def utility_at(utility, arrival_s, end_s):
    """The value of a utility function, which is JSON here, for a completion at `end_s` of a task
    that arrived at `arrival_s`; the same number as in virtbed (controller/sched/utility.c)."""
    elapsed_s = end_s - arrival_s if end_s > arrival_s else 0.0
    last_s = arrival_s
    for segment in utility["segments"]:
        duration_s = segment["duration_s"]
        last_s += duration_s
        if end_s <= last_s or not rank.above(end_s, last_s):
            break
        elapsed_s -= duration_s
    else:
        return 0.0
    elapsed_s = min(elapsed_s, duration_s)
    curve = segment["curve"]
    start = segment["start_fraction"]
    if curve == "constant":
        return utility["max"] * start
    end = segment["end_fraction"]
    fall = end - start
    if curve == "linear":
        return utility["max"] * (start + fall * (elapsed_s / duration_s))
    return utility["max"] * (end - fall * exp(-segment["rate_per_s"] * elapsed_s))


class Task:
    """A task: `id`, `arrival_s`, `type` (None on shared hosts), `options` of the type, `priority`,
    `may_preempt`, `preemptible`, `utility` (the JSON of its utility function, or None). With queues
    `deadline_s`; on shared hosts `vms`, and `cpu` and `memory` of each as parts of a host."""
    __slots__ = ("document", "id", "arrival_s", "type", "utility")

    def __init__(self, document, system):
        self.document = document
        self.id = document["id"]
        self.arrival_s = document["arrival_s"]
        name = document.get("type")
        self.type = system.types[name] if name is not None else None
        self.utility = document.get("utility")

    @property
    def options(self):
        """The options of its type."""
        return self.type.options if self.type else []

    def utility_at(self, end_s):
        """What the task is worth if it completes at `end_s`."""
        return utility_at(self.utility, self.arrival_s, end_s)

    @property
    def priority(self):
        """Tasks of a higher priority stand before others; 0 unless a user gave one."""
        return self.document.get("priority", 0)

    @property
    def may_preempt(self):
        """Whether it may take the nodes of a preemptible task."""
        return self.document.get("may_preempt", False)

    @property
    def preemptible(self):
        """Whether it may be suspended so that another task gets its nodes."""
        return self.document.get("preemptible", False)

    @property
    def deadline_s(self):
        """With queues: a later completion is worth nothing."""
        return self.document["deadline_s"]

    @property
    def vms(self):
        """Shared hosts: how many equal VMs it is."""
        return self.document["vms"]

    @property
    def cpu(self):
        """Shared hosts: the CPU need of each VM, a part of a host."""
        return self.document["cpu"]

    @property
    def memory(self):
        """Shared hosts: the memory of each VM, a part of a host."""
        return self.document["memory"]

    def __repr__(self):
        return f"<Task {self.id}{' ' + self.type.name if self.type else ''}>"


class Allocation:
    """A task and the nodes that it has, had or is to have: an entry of `running`, `suspended`,
    `reservations` or `placeholders`. `nodes` is empty for a suspended task; on shared hosts it has
    the host of each VM, and `share` is the yield of each (`yield` in JSON)."""
    __slots__ = ("task", "cluster", "pstate", "nodes", "start_s", "end_s", "executed_s", "share",
                 "virtual_s", "busy")

    def __init__(self, document, tasks, system):
        self.task = tasks[document["task"]]
        self.cluster = system.cluster(document["cluster"])
        get = document.get
        self.pstate = get("pstate", 0)
        self.nodes = get("nodes", [])
        self.start_s = get("start_s")
        self.end_s = get("end_s")
        self.executed_s = get("executed_s", 0.0)
        self.share = get("yield")
        self.virtual_s = get("virtual_s")
        self.busy = get("busy", False)

    @property
    def option(self):
        """The option of its type that it has, or None where that has no estimate."""
        return self.task.type.option(self.cluster, self.pstate)

    def energy_left_j(self, now_s):
        """What a running task will still use by its estimate."""
        option = self.option
        if option is None:
            return 0.0
        executed_s = self.executed_s + (now_s - self.start_s)
        return option.eec_j * max(0.0, 1 - executed_s / option.etc_s)

    def __repr__(self):
        return f"<Allocation {self.task!r} {self.cluster.name} {self.nodes}>"


class Deferral:
    """A waiting task that a policy has put off: how often so far, and until when."""
    __slots__ = ("task", "count", "until_s")

    def __init__(self, document, tasks):
        self.task = tasks[document["task"]]
        self.count = document["count"]
        self.until_s = document["until_s"]


class Queue:
    """The queue of a cluster: its tasks in order; the first executes since `start_s` (None: it
    starts after the event)."""
    __slots__ = ("cluster", "tasks", "start_s")

    def __init__(self, document, tasks, system):
        self.cluster = system.cluster(document["cluster"])
        self.tasks = [tasks[task] for task in document["tasks"]]
        self.start_s = document.get("start_s")


def _or_inf(value):
    return inf if value is None else value


class Snapshot:
    """Everything that a policy may know at a mapping event. `document` is the JSON.

    Besides the lists below it has `seed`, `event`, `now_s`, `next_event_s`, `day_start_s`, `end_s`,
    `consumed_j`, `budget_j`, `gate`, `between`, `missed` and `system`."""

    def __init__(self, document, system=None, tasks=None):
        """`system` (a System) and `tasks` (Task by id): where they are known already, since the
        document has neither then."""
        self.document = document
        self.system = system or System(document["system"])
        self._tasks = tasks
        self.seed = document["seed"]
        self.event = document["event"]
        self.now_s = document["now_s"]
        self.next_event_s = document["next_event_s"]
        self.day_start_s = document["day_start_s"]
        self.end_s = _or_inf(document["end_s"])
        self.consumed_j = document["consumed_j"]
        self.budget_j = _or_inf(document["budget_j"])
        self.gate = document.get("gate", False)
        self.between = document.get("between", False)
        self.missed = document.get("missed", 0)

    @classmethod
    def load(cls, path):
        """Reads a snapshot from a file."""
        with open(path, encoding="utf-8") as file:
            return cls(json.load(file))

    @classmethod
    def loads(cls, content):
        """Reads a snapshot from a text, such as a row of a run's table `decision`."""
        return cls(json.loads(content))

    def text(self):
        """The snapshot as virtbed writes it (virtbed.text)."""
        return text.dumps(self.document)

    @cached_property
    def tasks(self):
        """Every task that the rest names, by id."""
        if self._tasks is not None:
            return self._tasks
        return {task["id"]: Task(task, self.system) for task in self.document["tasks"]}

    @cached_property
    def waiting(self):
        """The mappable tasks, by priority, then arrival, then id."""
        tasks = self.tasks
        return [tasks[task] for task in self.document["waiting"]]

    def _allocations(self, key):
        return [Allocation(entry, self.tasks, self.system)
                for entry in self.document.get(key, ())]

    @cached_property
    def running(self):
        """Tasks that occupy nodes, or are about to."""
        return self._allocations("running")

    @cached_property
    def suspended(self):
        """Suspended tasks that may be resumed, in the order of `waiting`."""
        return self._allocations("suspended")

    @cached_property
    def reservations(self):
        """Permanent reservations; their tasks are not mappable."""
        return self._allocations("reservations")

    @cached_property
    def placeholders(self):
        """Place-holders of the last event; their tasks are among the waiting."""
        return self._allocations("placeholders")

    @cached_property
    def deferred(self):
        """Shared hosts: waiting tasks that a policy has put off."""
        return [Deferral(entry, self.tasks) for entry in self.document.get("deferred", ())]

    @cached_property
    def queues(self):
        """The queue of each cluster, in their order."""
        return [Queue(entry, self.tasks, self.system) for entry in self.document.get("queues", ())]

    @cached_property
    def down(self):
        """Nodes that take no tasks: (Cluster, number)."""
        return [(self.system.cluster(entry["cluster"]), entry["node"])
                for entry in self.document["down"]]

    @cached_property
    def free(self):
        """The free nodes of each cluster at present, by its name: lists of numbers."""
        free = {cluster.name: set(range(cluster.nodes)) for cluster in self.system.clusters}
        for entry in self.document["running"]:
            free[entry["cluster"]].difference_update(entry["nodes"])
        for entry in self.document["down"]:
            free[entry["cluster"]].discard(entry["node"])
        return {name: sorted(nodes) for name, nodes in free.items()}

    def schedule(self, cluster):
        """When which nodes of a cluster are free, as a new Schedule: running tasks, reservations
        and nodes that are down are taken; place-holders are not, since they end with this event."""
        name = cluster.name
        schedule = Schedule(cluster.nodes, self.now_s)
        schedule.hold([(entry["end_s"], mask_of(entry["nodes"]))
                       for entry in self.document["running"]
                       if entry["cluster"] == name and entry["end_s"] > self.now_s])
        for entry in self.document.get("reservations", ()):
            if entry["cluster"] == name:
                schedule.take(mask_of(entry["nodes"]), entry["start_s"], entry["end_s"])
        for entry in self.document["down"]:
            if entry["cluster"] == name:
                schedule.take(1 << entry["node"], self.now_s, inf)
        return schedule

    def random(self):
        """Random numbers of this event: the same ones whenever the snapshot is decided again."""
        return random.Random(f"{self.seed} {self.event}")
