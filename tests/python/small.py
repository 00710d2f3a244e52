# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots for the tests: a small one, and random ones of systems with nodes of a task's own."""

SYSTEM = {
    "clusters": [{"name": "c1", "nodes": 4, "cores": 1, "pstates": 1},
                 {"name": "c2", "nodes": 2, "cores": 2, "pstates": 1}],
    "types": [{"name": "A", "options": [
        {"cluster": "c1", "pstate": 0, "nodes": 2, "etc_s": 100.0, "eec_j": 900.0},
        {"cluster": "c2", "pstate": 0, "nodes": 1, "etc_s": 60.0, "eec_j": 1000.0}]}],
    "immediate": False,
}


def step(width_s, height=1.0):
    """A utility function that is worth `height` for so long."""
    return {"max": height, "segments": [{"curve": "constant", "duration_s": width_s,
                                         "start_fraction": 1.0, "end_fraction": 1.0,
                                         "rate_per_s": 0.0}]}


def task(number, **more):
    return {"id": number, "type": "A", "arrival_s": float(number), "utility": step(5000.0), **more}


def snapshot(waiting=(), running=(), **more):
    """A snapshot without `system`, as in a message; `tasks` has the tasks that are waiting."""
    return {"seed": 1, "event": 3, "now_s": 100.0, "next_event_s": 150.0, "day_start_s": 0.0,
            "end_s": 10000.0, "consumed_j": 0.0, "budget_j": None, "gate": False,
            "completed": {"tasks": 0, "energy_j": 0.0, "resources": 0.0},
            "tasks": [task(number) for number in waiting], "waiting": list(waiting),
            "running": list(running), "reservations": [], "placeholders": [], "down": [], **more}


def _utility(random):
    """A function with curves of all kinds, and jumps."""
    segments = []
    last = 1.0
    for _ in range(random.randint(1, 4)):
        curve = random.choice(["constant", "linear", "exponential"])
        start = last if random.random() < 0.5 else last * random.random()
        end = start if curve == "constant" else start * random.choice([0, 0.5, random.random()])
        segments.append({
            "curve": curve, "start_fraction": start, "end_fraction": end,
            "duration_s": random.choice([60.0, 600.0, 3600.0, random.uniform(1, 5000)]),
            "rate_per_s": random.uniform(1e-4, 1e-2) if curve == "exponential" else 0.0})
        last = start + (end - start) if curve == "linear" else end
    return {"max": random.choice([1.0, 2.0, 4.0, 8.0]), "segments": segments}


def _system(random):
    clusters = [{"name": f"c{c}", "nodes": random.choice([1, 3, 16, 64, 70, 130]),
                 "cores": random.choice([1, 2, 8]), "pstates": random.randint(1, 3)}
                for c in range(random.randint(1, 4))]
    types = []
    for number in range(random.randint(1, 5)):
        options = []
        for cluster in clusters:
            nodes = random.randint(1, cluster["nodes"])
            options += [{"cluster": cluster["name"], "pstate": pstate, "nodes": nodes,
                         "etc_s": random.choice([60.0, 300.0, random.uniform(1, 3000)]),
                         "eec_j": random.choice([0.0, 1000.0, random.uniform(1, 1e6)])}
                        for pstate in range(cluster["pstates"])]
        kept = [option for option in options if random.random() < 0.8] or options
        types.append({"name": f"t{number}", "options": kept})
    return {"clusters": clusters, "types": types, "immediate": False}


def random_snapshot(random):
    """A whole snapshot; `random` is a random.Random."""
    system = _system(random)
    now_s = random.choice([0.0, 1000.0, random.uniform(0, 50000)])
    document = {"seed": random.randrange(1 << 40), "event": random.randrange(1000),
                "now_s": now_s, "next_event_s": now_s + random.choice([50.0, 60.0, 0.1]),
                "day_start_s": 0.0, "end_s": random.choice([None, now_s + random.uniform(1, 5000)]),
                "consumed_j": random.choice([0.0, random.uniform(0, 1e6)]), "budget_j": None,
                "gate": random.random() < 0.7,
                "completed": {"tasks": 0, "energy_j": 0.0, "resources": 0.0},
                "system": system, "tasks": [], "waiting": [], "running": [], "reservations": [],
                "placeholders": [], "down": []}
    if document["end_s"] is not None and random.random() < 0.8:
        document["budget_j"] = document["consumed_j"] + random.uniform(0, 3e6)
    free = {cluster["name"]: list(range(cluster["nodes"])) for cluster in system["clusters"]}
    for number in range(random.choice([0, 3, 12, 40])):
        entry = {"id": number, "arrival_s": random.uniform(0, now_s) if random.random() < 0.7
                 else float(int(now_s / 2)), "type": random.choice(system["types"])["name"],
                 "utility": _utility(random)}
        document["tasks"].append(entry)
        options = next(kind for kind in system["types"] if kind["name"] == entry["type"])["options"]
        option = random.choice(options)
        where = random.random()
        nodes = free[option["cluster"]]
        if where < 0.6 or len(nodes) < option["nodes"]:
            document["waiting"].append(number)
            continue
        random.shuffle(nodes)
        place = {"task": number, "cluster": option["cluster"], "pstate": option["pstate"],
                 "nodes": sorted(nodes.pop() for _ in range(option["nodes"]))}
        if where < 0.85:
            start_s = max(0.0, now_s - random.uniform(0, option["etc_s"]))
            executed_s = random.choice([0.0, random.uniform(0, option["etc_s"])])
            end_s = max(start_s + option["etc_s"] - executed_s, now_s)
            document["running"].append({**place, "start_s": start_s, "end_s": end_s,
                                        **({"executed_s": executed_s} if executed_s else {})})
        else:
            start_s = now_s + random.uniform(1, 2000)
            document["reservations"].append(
                {**place, "start_s": start_s, "end_s": start_s + option["etc_s"]})
    for cluster, nodes in free.items():
        if nodes and random.random() < 0.3:
            document["down"].append({"cluster": cluster, "node": random.choice(nodes)})
    arrivals = {entry["id"]: entry["arrival_s"] for entry in document["tasks"]}
    document["waiting"].sort(key=lambda number: (arrivals[number], number))
    return document
