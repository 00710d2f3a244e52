# SPDX-License-Identifier: GPL-3.0-or-later
"""What daemons and their files hold, read again and again, and whether it grows: for `soak`."""

import os

# What growth is not: so much a day, and so much for each task that is kept on record (for ever, docs/how-to/service.md).
# The heap is what is in use of it, so that a leak of 6 bytes a second is seen; resident memory stays at the most that
# ever was in use.
BOUNDS = {
    "heap_kib": {"day": 512, "task": 2},
    "rss_kib": {"day": 4096, "task": 2},
    "descriptors": {"day": 1, "task": 0},
    "threads": {"day": 1, "task": 0},
    "store_kib": {"day": 2048, "task": 6},
}


def read_daemon(pid, heaps):
    """Memory, descriptors and threads of a process; None: it has ended. `heaps`: where fast-clock.c tells its heap."""
    try:
        with open(f"/proc/{pid}/status") as file:
            status = dict(line.split(":", 1) for line in file if ":" in line)
        values = {"rss_kib": int(status["VmRSS"].split()[0]), "threads": int(status["Threads"]),
                  "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}
    except (OSError, KeyError):
        return None
    try:
        with open(os.path.join(heaps, str(pid))) as file:
            values["heap_kib"] = int(file.read()) / 1024
    except (OSError, ValueError):
        pass  # `virtbed serve` writes no file, and a file that is being written is read again
    return values


def sizes_kib(directory):
    """All files below a state directory: {"store": KiB, "logs": ..., "journals": ..., "rest": ...}."""
    sums = {"store_kib": 0, "journals_kib": 0, "logs_kib": 0, "rest_kib": 0, "files": 0}
    for place, _, names in os.walk(directory):
        for name in names:
            try:
                kib = os.lstat(os.path.join(place, name)).st_size / 1024
            except OSError:
                continue  # it has just been removed
            kind = ("store" if name.endswith(".sqlite") else
                    "journals" if name.endswith(("-wal", "-shm")) else
                    "logs" if name.endswith(".log") else "rest")
            sums[f"{kind}_kib"] += kib
            sums["files"] += 1
    return sums


def slope(points):
    """What the values of (days, value) rise by in a day, by least squares; None where there are too few."""
    if len(points) < 3:
        return None
    days, values = (sum(point[k] for point in points) / len(points) for k in (0, 1))
    spread = sum((point[0] - days) ** 2 for point in points)
    return sum((point[0] - days) * (point[1] - values) for point in points) / spread if spread else None


def lowest(points, window_days):
    """The lowest of each whole stretch of so many days: what comes and goes with the work is no growth."""
    stretches = {}
    whole = round((points[-1][0] - points[0][0]) / window_days - 0.4)
    for point in points:
        number = int((point[0] - points[0][0]) / window_days)
        if number >= whole:
            break
        if number not in stretches or point[1] < stretches[number][1]:
            stretches[number] = point
    return list(stretches.values())


def judge(series, window_days, bounds=None):
    """
    For each quantity of {name: [(days, tasks, {quantity: value})]} what it is at the beginning, at the end and at
    most, what it grows by in a day beside what each task may take, over the lowest of each `window_days`, and the
    verdict.
    """
    bounds = bounds or BOUNDS
    verdicts = []
    for name, readings in series.items():
        for quantity, bound in bounds.items():
            points = [(days, tasks, values[quantity]) for days, tasks, values in readings if quantity in values]
            if not points:
                continue
            grown = slope(lowest([(days, value) for days, _, value in points], window_days))
            beside = slope(lowest([(days, value - bound["task"] * tasks) for days, tasks, value in points], window_days))
            verdicts.append({
                "of": name, "what": quantity, "first": round(points[0][2], 1), "last": round(points[-1][2], 1),
                "most": round(max(point[2] for point in points), 1), "per_day": grown and round(grown, 2),
                "per_day_beside_tasks": beside and round(beside, 2), "bound": bound["day"],
                "grows": None if beside is None else beside > bound["day"]})
    return verdicts
