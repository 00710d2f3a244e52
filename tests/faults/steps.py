# SPDX-License-Identifier: GPL-3.0-or-later
"""kill -9 at each stored step of a life: what people ask of a service in it, and the deaths meanwhile."""

import signal
import threading
import time

from bed import ENDED, PATIENCE, Bed, Failed, within
from result import Result

# Windows as short as they may be, and a retention that comes round while the steps are gone through.
LIFE = {"energy_limit_j": 1e9, "energy_window_s": 10, "retention_days": 60 / 86400}


def window(bed):
    """The beginning of the window; 0: not known."""
    return ((bed.ask("/v1/energy") or {}).get("window") or {}).get("begin_s", 0)


def drain(bed, how):
    for node in (0, 1):
        bed.insist(f"/v1/nodes/c2/{node}/{how}", body={"reason": "test"} if how == "drain" else None)


def reload(bed):
    bed.interval_s = 11 - bed.interval_s  # 5 s and 6 s
    bed.write_config()
    bed.service.send_signal(signal.SIGHUP)


def hold(bed, number):
    """A waiting task stays where it is; a task that was started meanwhile, since others were lost, cannot be held."""
    path = f"/v1/tasks/{number}"
    return bed.insist(f"{path}/hold", lambda: bed.task(number).get("state") in ("starting", "running", *ENDED))


def cancel(bed, number):
    bed.insist(f"/v1/tasks/{number}/cancel", lambda: bed.task(number).get("state") in ENDED)


def suspend(bed, number):
    """Whether it is, or it has ended before."""
    def is_there():
        bed.keep_serving()
        task = bed.task(number)
        if task.get("state") in ("suspended", *ENDED):
            return task["state"]
        if task.get("state") == "running":  # again, where its local scheduler died
            bed.post(f"/v1/tasks/{number}/suspend")
        return None
    return within(120, f"task {number} is suspended", is_there) == "suspended"


def resume(bed, number):
    bed.insist(f"/v1/tasks/{number}/resume",
               lambda: bed.task(number).get("state") not in ("suspending", "suspending-claimed", "suspended", "suspended-claimed", None))


def check_kept(bed, number, *states):
    """What a person was told about a task holds until they say otherwise."""
    state = within(60, "an answer", lambda: bed.task(number)).get("state")
    if state not in states:
        raise Failed(f"task {number} is {state}, not {states}")


def live(bed, goes_on):
    """What people ask of a service in its life. Whatever dies meanwhile, they ask until they are told yes; what they
    were told is checked. `goes_on`: no task is lost, so that what was suspended stays it. Returns the tasks that were
    cancelled."""
    before = window(bed)
    drain(bed, "drain")
    long = bed.submit_surely("LONG")[0]
    bed.wait_state(long, "running", *ENDED)
    held, dropped = bed.submit_surely("SHORT", 2)
    is_held = hold(bed, held)
    cancel(bed, dropped)
    is_suspended = suspend(bed, long)
    killed = bed.submit_surely("LONG")[0]
    bed.wait_state(killed, "running", *ENDED)
    cancel(bed, killed)
    reload(bed)
    bed.wait_state(killed, *ENDED)
    if is_held:
        check_kept(bed, held, "waiting")
    if is_suspended and goes_on:
        check_kept(bed, long, "suspended")
    resume(bed, long)
    bed.insist(f"/v1/tasks/{held}/release", lambda: bed.task(held).get("state") not in ("waiting", None))
    drain(bed, "undrain")
    for number in (long, held, dropped):
        bed.wait_state(number, *ENDED)
    within(60, "the window turns", lambda: window(bed) not in (0, before))
    return [dropped, killed]


def arm(bed, program, step, when):
    """It kills itself at that commit from now on; the name of the round lets it count from 1."""
    armed = bed.faults / "kill"
    armed.with_suffix(".new").write_text(f"{program} {step} {when} {time.monotonic_ns()}")
    armed.with_suffix(".new").rename(armed)


class Deaths:
    """Sees when a daemon has killed itself, and how long it takes until all of the service is there again."""

    def __init__(self, bed, result):
        self.bed, self.result, self.stop = bed, result, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not (self.bed.faults / "killed").exists():
            if self.stop.wait(0.02):
                return
        since = time.monotonic()
        while not self.stop.wait(0.2):
            clusters = (self.bed.ask("/v1/clusters") or {}).get("clusters", [])
            if len(clusters) == len(self.bed.daemons("virtbed-local-sched")) and self.bed.serves() and not any(
                    c["away"] or c["down"] for c in clusters):
                break
        self.result.recovered(since)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, value, traceback):
        if kind:
            self.stop.set()
        self.thread.join(120 * PATIENCE)
        self.stop.set()


def disarm(bed):
    """Whether it was killed."""
    (bed.faults / "kill").unlink(missing_ok=True)
    killed = (bed.faults / "killed").exists()
    (bed.faults / "killed").unlink(missing_ok=True)
    return killed


def live_and_die(bed, program, step, when, result):
    """Lives while it is armed; whether it was killed."""
    arm(bed, program, step, when)
    with Deaths(bed, result) as deaths:
        cancelled = live(bed, program == "virtbed-controller")
        if not (bed.faults / "killed").exists():
            deaths.stop.set()
    killed = disarm(bed)
    result.injected += killed
    return killed, cancelled


# Commits in such a life, at the least: fewer than half of them, and the preloaded library does not see them.
STEPS_MIN = {"virtbed-controller": 20, "virtbed-local-sched": 10}


def kill_at_steps(program, every):
    """At each commit of its store (or every so many of them), before it is written and once it is, until a life has
    no more of them."""
    result = Result(2 * (STEPS_MIN[program] // every))
    cancelled, deaths, step, fired = [], 0, 1, True
    with Bed(long=3, service=LIFE) as bed:
        while fired:
            fired = False
            for when in ("before", "after"):
                killed, these = live_and_die(bed, program, step, when, result)
                cancelled += these
                fired |= killed
                deaths += killed
                bed.check_account(samples=program == "virtbed-controller")
                if deaths == 4:  # it is given up where it dies again and again
                    deaths = 0
                    bed.stop()
                    bed.start()
            step += every
        bed.wait_all()
        bed.wait_metered()
        result.count(bed, samples=program == "virtbed-controller", cancelled=cancelled)
        if program == "virtbed-controller" and any(bed.task(number)["attempts"] > 1 for number in bed.numbers):
            raise Failed("what ran did not run on: a task had two attempts")
    return result


def controller_steps(every):
    """Tasks, submissions, answers: all of them. Running tasks run on."""
    return kill_at_steps("virtbed-controller", every)


def scheduler_steps(every):
    """What was told. What ran or was suspended on it is lost, and started again; it is executed once."""
    return kill_at_steps("virtbed-local-sched", every)


def first_steps(every):
    """Nothing was told yet: it starts all the same, and serves."""
    result = Result(4)
    for program in STEPS_MIN:
        step, fired = 1, True
        while fired:
            fired = False
            for when in ("before", "after"):
                bed = Bed(long=3)
                arm(bed, program, step, when)
                since = time.monotonic()
                with bed:
                    killed = disarm(bed)
                    if killed:
                        result.recovered(since)
                    result.injected += killed
                    fired |= killed
                    bed.submit("SHORT", 2)
                    bed.wait_all()
                    bed.wait_metered()
                    result.count(bed)
            step += every
    return result
