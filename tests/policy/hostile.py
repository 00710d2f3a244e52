#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A policy that decides in the order of arrival in one event of two, and does harm in the others.

usage: hostile.py [KIND...]

The kinds of harm (all of them, or KINDs) are drawn at random, and named on standard error. Beside a
file hostile.py.good it does none. `hostile.py --kinds` lists them.
"""

import json
import os
import random
import signal
import sys
import time

from virtbed import Mapping, Snapshot
from virtbed.snapshot import System, Task


def fcfs(message):
    """The plan of a policy that means well."""
    snapshot = message["snapshot"]
    system = System(snapshot["system"])
    tasks = {task["id"]: Task(task, system) for task in snapshot["tasks"]}
    mapping = Mapping(Snapshot(snapshot, system, tasks))
    for task in mapping.tasks:
        options = [option for option in task.options if mapping.allows(option)]
        if options:
            mapping.place(task, min(options, key=lambda option: option.eec_j))
    return mapping.actions


def send(text):
    data = text if isinstance(text, bytes) else text.encode()
    while data:
        data = data[os.write(1, data):]


def plan(message, actions, number=None):
    return json.dumps({"type": "plan", "number": message["number"] if number is None else number,
                       "actions": actions}) + "\n"


def good(message):
    send(plan(message, fcfs(message)))


def task_of(message):
    tasks = message["snapshot"]["tasks"]
    return tasks[0]["id"] if tasks else 0


def bad_starts(message):
    cluster = message["snapshot"]["system"]["clusters"][0]["name"]
    task = task_of(message)
    nodes = random.choice([[0] * 40, [-1], [2 ** 40], [0], list(range(4)), [1.5], ["0"], None])
    start = {"kind": "start", "task": random.choice([task, 10 ** 12, -1, "0"]), "cluster": cluster, "nodes": nodes}
    return [dict(start) for _ in range(random.choice([1, 2, 50]))]


def hang(_message):
    time.sleep(3600)


def late(message):
    time.sleep(random.uniform(0.2, 2))
    good(message)


def leave(_message):
    os._exit(random.choice([0, 1, 77]))


def kill_itself(_message):
    os.kill(os.getpid(), random.choice([signal.SIGSEGV, signal.SIGKILL, signal.SIGSTOP, signal.SIGABRT]))


def rubbish(_message):
    send(random.randbytes(random.choice([1, 100, 100000])) + b"\n")


def no_end_of_line(_message):
    block = b"[" * 65536
    while True:
        send(block)


def long_line(message):
    send(plan(message, []).rstrip("\n") + " " * (65 << 20) + "\n")


def many_values(message):
    send(plan(message, [0] * 3000000))


def nested(message):
    send('{"type": "plan", "number": %d, "actions": %s%s}\n' % (message["number"], "[" * 100000, "]" * 100000))


def not_finite(message):
    send('{"type": "plan", "number": %d, "actions": [{"kind": "start", "task": %d, "start_s": NaN, "end_s": 1e999}]}\n'
         % (message["number"], task_of(message)))


def illegal(message):
    send(plan(message, bad_starts(message)))


def another_number(message):
    send(plan(message, [], message["number"] + random.choice([-1, 1, 2 ** 53])))


def twice(message):
    send(plan(message, fcfs(message)) * 20)


def piece_by_piece(message):
    for byte in plan(message, fcfs(message)).encode():
        send(bytes([byte]))
        time.sleep(0.002)


def fork_and_leave(_message):
    if os.fork():
        os._exit(0)
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3600)


def fork_bomb(_message):
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.01)


def eat_memory(_message):
    blocks = []
    while True:
        blocks.append(bytearray(1 << 24))


def leak(message):
    kept.append(bytearray(1 << 22))
    good(message)


def eat_files(message):
    try:
        while True:
            kept.append(os.dup(0))
    except OSError:
        pass
    good(message)


def fill_disk(message):
    try:
        with open("/tmp/virtbed-hostile-%d" % os.getpid(), "wb") as file:
            os.unlink(file.name)
            for _ in range(4096):
                file.write(bytes(1 << 20))
    except OSError:
        pass
    good(message)


def talk(message):
    for _ in range(100000):
        os.write(2, b"\x1b[2J a word to the log\n")
    good(message)


def close_output(_message):
    os.close(1)
    time.sleep(3600)


def close_input(message):
    good(message)
    os.close(0)
    time.sleep(3600)


def kill_all(message):
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(-1, number)
            os.kill(os.getppid(), number)
        except OSError:
            pass
    good(message)


harm = {function.__name__.replace("_", "-"): function for function in (
    hang, late, leave, kill_itself, rubbish, no_end_of_line, long_line, many_values, nested, not_finite, illegal,
    another_number, twice, piece_by_piece, fork_and_leave, fork_bomb, eat_memory, leak, eat_files, fill_disk, talk,
    close_output, close_input, kill_all)}
kept = []


def main():
    if "--kinds" in sys.argv:
        print("\n".join(harm))
        return
    kinds = sys.argv[1:] or list(harm)
    system = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            system = message["system"]
            send(json.dumps({"type": "hello", "protocol": 1, "name": "hostile"}) + "\n")
        elif message["type"] == "decide":
            system = message["snapshot"].setdefault("system", system)
            harmless = os.path.exists(__file__ + ".good") or random.random() < 0.5
            kind = None if harmless else random.choice(kinds)
            if kind:
                os.write(2, b"hostile: %s\n" % kind.encode())
            harm.get(kind, good)(message)
        else:
            break


if __name__ == "__main__":
    main()
