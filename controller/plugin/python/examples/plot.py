#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws what a run directory recorded, with matplotlib (Debian: python3-matplotlib).

usage: plot.py RUN-DIRECTORY [PICTURE]

Each part below `# %%` is a cell in editors that know notebooks (Spyder, VS Code, Jupytext): there,
set DIRECTORY and carry out the cells one by one. As a program it writes PICTURE (default plot.png).
"""
# %% What to draw
import sys

import matplotlib

if len(sys.argv) > 1:
    matplotlib.use("Agg")
import matplotlib.pyplot as plot

from virtbed.rundir import RunDirectory

DIRECTORY = sys.argv[1] if len(sys.argv) > 1 else "results/trial"
PICTURE = sys.argv[2] if len(sys.argv) > 2 else "plot.png"
store = RunDirectory(DIRECTORY)
figure, (top, middle, bottom) = plot.subplots(3, 1, figsize=(8, 10), layout="constrained")
figure.suptitle(f"{store.meta['config_name']}, {store.meta['kind']}")

# %% Utility of each policy under each limit
means = store.query("SELECT policy, limit_fraction, avg(utility) AS utility FROM run "
                    "WHERE utility IS NOT NULL GROUP BY 1, 2 ORDER BY limit_fraction DESC, 1")
labels = [f"{row['policy']}\n{100 * row['limit_fraction']:.0f} %" for row in means]
top.bar(labels, [row["utility"] for row in means])
top.set_ylabel("utility")

# %% Tasks at the mapping events of the first run
first = store.rows("run")[0]
times_s, waiting, running = [], [], []
for decision in store.decisions(first["run"]):
    snapshot = decision.snapshot
    times_s.append(snapshot.now_s)
    waiting.append(len(snapshot.waiting))
    running.append(len(snapshot.running))
middle.step(times_s, waiting, where="post", label="waiting")
middle.step(times_s, running, where="post", label="running")
middle.set_title(f"run {first['run']}: {first['policy']}")
middle.set_xlabel("time in s")
middle.set_ylabel("tasks")
middle.legend()

# %% Where its tasks ran: a row for each node, a colour for each task
rows, middles = {}, {}
snapshot = next(store.decisions(first["run"])).snapshot
for cluster in snapshot.system.clusters:
    middles[cluster.name] = len(rows) + cluster.nodes / 2
    rows.update({(cluster.name, node): len(rows) + node for node in range(cluster.nodes)})
for task in store.query("SELECT * FROM task WHERE run = ? AND started_s IS NOT NULL "
                        "AND ended_s IS NOT NULL AND nodes <> ''", first["run"]):
    span = [(task["started_s"], task["ended_s"] - task["started_s"])]
    for node in task["nodes"].split(","):
        bottom.broken_barh(span, (rows[task["cluster"], int(node)], 0.9),
                           color=f"C{task['task'] % 10}")
bottom.set_yticks(list(middles.values()), list(middles))
bottom.set_xlabel("time in s")

# %% Show it
if matplotlib.get_backend().lower() == "agg":
    figure.savefig(PICTURE)
else:
    plot.show()
