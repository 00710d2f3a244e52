# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions, of which a plan is a list. An action is a dict as in docs/reference/snapshot.md.

    from virtbed import actions
    plan = [actions.start(task, option, nodes=[0, 1]), actions.drop(other)]

`task` is a Task or its id. Further keys may be given by name, such as `reason="first"` and
`objective=0.5`; virtbed fills in what is missing: `end_s`, `energy_j` and `utility` from the
estimates, objective 0, reason "outside". Nodes are numbers in their cluster, ascending; on shared
hosts the host of each VM.

Each model has its kinds: nodes of a task's own start, placeholder, reserve, suspend, resume, drop
(where nodes are reserved for no task no placeholder and no reserve); shared hosts place, share,
migrate, pause, resume, defer, drop; queues enqueue and drop.
"""


def _action(kind, task, keys, more):
    return {"kind": kind, "task": getattr(task, "id", task), **keys, **more}


def _place(option, nodes):
    return {"cluster": option.cluster.name, "pstate": option.pstate, "nodes": list(nodes)}


def start(task, option, nodes, **more):
    """Starts a waiting task by an option of its type, on these nodes."""
    return _action("start", task, _place(option, nodes), more)


def placeholder(task, option, nodes, start_s, **more):
    """A start at `start_s`, unless the next mapping event comes first."""
    return _action("placeholder", task, {**_place(option, nodes), "start_s": start_s}, more)


def reserve(task, option, nodes, start_s, **more):
    """A start at `start_s` that no later plan moves."""
    return _action("reserve", task, {**_place(option, nodes), "start_s": start_s}, more)


def drop(task, **more):
    """The task leaves the system."""
    return _action("drop", task, {}, more)


def suspend(task, **more):
    """A running, preemptible task leaves its nodes; before the action that takes them."""
    return _action("suspend", task, {}, more)


def resume(task, allocation, nodes, share=None, **more):
    """A suspended task continues on these nodes of its cluster, or with `share`, its yield, on any
    hosts where those are shared. `allocation` is its entry among the snapshot's `suspended`, or
    among `running` if this plan suspends it."""
    if share is not None:
        return _action("resume", task, _hosts(allocation.cluster, nodes, share), more)
    return _action("resume", task, _place(allocation, nodes), more)


def _hosts(cluster, hosts, share):
    return {"cluster": getattr(cluster, "name", cluster), "nodes": list(hosts), "yield": share}


def place(task, cluster, hosts, share, **more):
    """Shared hosts: starts a task, with a VM on each of `hosts`, by this yield."""
    return _action("place", task, _hosts(cluster, hosts, share), more)


def share(task, cluster, hosts, share, **more):
    """Shared hosts: a running task stays on its hosts, and gets this yield from now on."""
    return _action("share", task, _hosts(cluster, hosts, share), more)


def migrate(task, cluster, hosts, share, **more):
    """Shared hosts: the VMs of a running task move to `hosts`, with this yield."""
    return _action("migrate", task, _hosts(cluster, hosts, share), more)


def pause(task, **more):
    """Shared hosts: a running task leaves its hosts and keeps its progress."""
    return _action("pause", task, {}, more)


def defer(task, until_s, **more):
    """Shared hosts: a waiting task is put off."""
    return _action("defer", task, {"start_s": until_s}, more)


def enqueue(task, cluster, **more):
    """Queues: to the end of the queue of a cluster."""
    return _action("enqueue", task, {"cluster": getattr(cluster, "name", cluster)}, more)
