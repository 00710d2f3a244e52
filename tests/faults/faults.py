# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults: each is injected a number of times, and says what is kept (the text of the table)."""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from bed import LAB, PATIENCE, Bed, Failed, processes, within

# Less and more than how long a local scheduler may be silent before it is away: 30 s (REMOTE_LINK_AWAY_S), and what it
# takes until a request is over.
LESS_S = 12
MORE_S = 50


class Result:
    def __init__(self):
        self.injected = self.lost = self.doubled = 0
        self.recovered_s = 0.0
        self.note = ""

    def recovered(self, since):
        self.recovered_s = max(self.recovered_s, time.monotonic() - since)

    def count(self, bed, samples=False):
        """`samples`: no local scheduler died, so that none of its samples may be missing."""
        bed.check_account(samples)
        lost, doubled = bed.count()
        self.lost += lost
        self.doubled += doubled


def serve_again(bed, since, result):
    """Whoever looks after the service starts it again where it ended; then it serves."""
    def state():
        if bed.service.poll() is not None:
            bed.start(wait=False)
        return bed.serves()
    within(120, "serving again", state)
    result.recovered(since)


# kill -9.

def controller_steps(times):
    """Tasks, submissions, what was told: all of it. What runs goes on."""
    return kill_at_steps("virtbed-controller", times)


def kill_at_steps(program, times):
    """At each commit of its store during the life of two tasks, before it is written and once it is."""
    result = Result()
    with Bed() as bed:
        deaths = 0
        for step in range(1, 200, max(1, 40 // times)):
            fired = 0
            for when in ("before", "after"):
                deaths += kill_at_step(bed, program, step, when, result)
                fired += (bed.faults / "killed").exists()
                (bed.faults / "killed").unlink(missing_ok=True)
                if deaths % 4 == 0 and deaths:  # it is given up where it dies again and again
                    deaths = 0
                    bed.stop()
                    bed.start()
            if not fired:
                result.note = f"{step - 1} steps"
                break
        bed.wait_all()
        result.count(bed, samples=True)
    return result


def kill_at_step(bed, program, step, when, result):
    armed = bed.faults / "kill"
    armed.with_suffix(".new").write_text(f"{program} {step} {when}")
    armed.with_suffix(".new").rename(armed)
    numbers = bed.submit("SHORT", 2)
    since = None
    end = time.monotonic() + 120 * PATIENCE
    while True:
        if since is None and (bed.faults / "killed").exists():
            since = time.monotonic()
            result.injected += 1
            serve_again(bed, since, result)
        if all(bed.task(number).get("state") == "completed" for number in numbers):
            break
        if time.monotonic() > end:
            raise Failed(f"tasks {numbers} have not completed")
        time.sleep(0.02)
    armed.unlink(missing_ok=True)
    return since is not None


def controller_random(times):
    """The same: the task runs on in its VMs, and its end is heard of."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            time.sleep(random.uniform(0, 4))
            since = time.monotonic()
            os.kill(bed.pid("virtbed-controller"), signal.SIGKILL)
            result.injected += 1
            time.sleep(0.3)
            serve_again(bed, since, result)
            bed.wait_state(number, "completed", "failed", "killed")
        result.count(bed, samples=True)
    return result


def scheduler_random(times):
    """Its VMs live on; the task that ran in them is lost, and started again in them."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "starting", "running")
            time.sleep(random.uniform(0, 3))
            since = time.monotonic()
            os.kill(bed.pid("virtbed-local-sched"), signal.SIGKILL)
            result.injected += 1
            bed.wait_state(number, "completed", "failed", "killed")
            result.recovered(since)
        result.count(bed)
    return result


def scheduler_steps(times):
    """The same at each commit of the local scheduler's store during the life of a task."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        deaths = 0
        for step in range(1, 1 + times):
            for when in ("before", "after"):
                armed = bed.faults / "kill"
                armed.with_suffix(".new").write_text(f"virtbed-local-sched {step} {when}")
                armed.with_suffix(".new").rename(armed)
                number = bed.submit("SHORT")[0]
                since = time.monotonic()
                bed.wait_state(number, "completed", "failed", "killed", seconds=240)
                if (bed.faults / "killed").exists():
                    result.injected += 1
                    deaths += 1
                    result.recovered(since)
                    (bed.faults / "killed").unlink()
                armed.unlink(missing_ok=True)
                if deaths == 4:  # where it dies again and again, others wait for it longer
                    deaths = 0
                    bed.stop()
                    bed.start()
        result.count(bed)
    return result


def supervisor_random(times):
    """What waited waits, what was submitted is there; what ran is started again."""
    result = Result()
    with Bed(long=5) as bed:
        for _ in range(times):
            bed.submit("SHORT", 2)
            bed.submit("LONG", 1)
            time.sleep(random.uniform(0, 4))
            since = time.monotonic()
            bed.service.kill()
            bed.service.wait()
            result.injected += 1
            within(60, "the daemons of a service that was killed end", lambda: not processes(
                f"virtbed-(controller|local-sched) .*{bed.state}"))
            bed.start()
            result.recovered(since)
            bed.wait_all()
        result.count(bed)
    return result


# SIGSTOP.

@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def controller_stopped(times):
    """Everything; who asks waits."""
    result = Result()
    with Bed(long=5) as bed:
        for _ in range(times):
            bed.submit("LONG", 2)
            with stopped(bed.pid("virtbed-controller")):
                result.injected += 1
                time.sleep(LESS_S)
            since = time.monotonic()
            serve_again(bed, since, result)
            bed.wait_all()
        result.count(bed, samples=True)
    return result


def come_back(bed, away, result):
    """All clusters are there again, and all tasks have ended: the first, or where none was away the last, counts."""
    since = time.monotonic()
    within(90, "the clusters are back", lambda: all(
        not c["away"] and not c["down"]
        for c in (bed.ask("/v1/clusters") or {"clusters": [{"away": True}]})["clusters"]
        if c.get("drained") != c.get("nodes")))
    if away:
        result.recovered(since)
    bed.wait_all(seconds=400)
    if not away:
        result.recovered(since)


def scheduler_silent(times, seconds, long, away):
    result = Result()
    with Bed(long=long) as bed:
        bed.order("drain", "c1/0-1", "--reason", "test")
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            pids = processes(f"^[^ ]*virtbed-local-sched .*--cluster c2 .*{bed.state}")
            with stopped(pids[0]):
                result.injected += 1
                time.sleep(seconds)
                if away:  # another cluster may have it now
                    bed.order("undrain", "c1/0-1")
            come_back(bed, away, result)
            if bed.task(number)["attempts"] != 1 + away:
                raise Failed(f"not as many attempts as there should be: {bed.task(number)}")
            if away:
                bed.order("drain", "c1/0-1", "--reason", "test")
        result.count(bed, samples=True)
    return result


def scheduler_stopped_less(times):
    """The task: it is the same attempt that ends."""
    return scheduler_silent(times, LESS_S, 5, False)


def scheduler_stopped_more(times):
    """The task is started elsewhere; the attempt that still ran is killed when its local scheduler is back."""
    return scheduler_silent(times, MORE_S, 200, True)


# The network, in a namespace of its own.

def in_network(name, times):
    """Runs one of the faults below where the loopback interface is nobody else's."""
    here = pathlib.Path(__file__).resolve().parent
    done = subprocess.run(["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", here / "run",
                           "--raw", str(times), name], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(f"{name}: {done.stdout}")
    result = Result()
    words = done.stdout.split("\n")[-2].split()
    result.injected, result.lost, result.doubled = map(int, words[:3])
    result.recovered_s = float(words[3])
    return result


@contextlib.contextmanager
def schedulers(dir, addresses):
    """Scripted local schedulers of both clusters on TCP, as on machines of their own."""
    started = []
    bed = Bed(addresses=addresses)
    os.environ["VIRTBED_EXECUTED"] = str(bed.executed_file)
    try:
        for name, address in addresses.items():
            program = bed.environment()["VIRTBED_LIBEXEC"] + "/virtbed-local-sched"
            started.append(subprocess.Popen([program, "--config", bed.config, "--cluster", name, "--state",
                                             f"{bed.dir}/ls-{name}", "--listen", address]))
        yield bed
    finally:
        for process in started:
            process.terminate()
            process.wait()


def cut(times, seconds, long, away):
    result = Result()
    addresses = {"c1": "http://127.0.0.1:7101", "c2": "http://127.0.0.1:7102"}
    with schedulers(None, addresses) as bed:
        bed.write_config(addresses)
        bed.long = long
        bed.write_config(addresses)
        with bed:
            for _ in range(times):
                bed.submit("LONG", 2)
                for number in bed.numbers[-2:]:
                    bed.wait_state(number, "running")
                subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
                result.injected += 1
                time.sleep(seconds)
                states = [bed.task(number)["state"] for number in bed.numbers[-2:]]
                subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
                if states != ["waiting" if away else "running"] * 2:
                    raise Failed(f"not cut off: {states}")
                come_back(bed, away, result)
            result.count(bed, samples=True)
    return result


def cut_less(times):
    return cut(times, LESS_S, 20, False)


def cut_more(times):
    return cut(times, MORE_S, 200, True)


def network_less(times):
    """The task: it is the same attempt that ends, and its end is heard of."""
    return in_network("cut_less", times)


def network_more(times):
    """The task waits, and is started again where there is a way; attempts that still ran are killed."""
    return in_network("cut_more", times)


# The clock.

def clock_step(times):
    """Everything: times come from a clock that is not set."""
    result = Result()
    with Bed(long=5) as bed:
        for i in range(times):
            bed.submit("LONG", 2)
            (bed.faults / "clock.new").write_text("3600" if i % 2 == 0 else "-3600")
            (bed.faults / "clock.new").rename(bed.faults / "clock")
            result.injected += 1
            since = time.monotonic()
            serve_again(bed, since, result)
            bed.wait_all()
            for number in bed.numbers[-2:]:
                task = bed.task(number)
                if not 0 < task["ended_s"] - task["arrival_s"] < 60:
                    raise Failed(f"its times are wrong: {task}")
            if i % 4 == 3:  # also over a restart
                bed.stop()
                bed.start()
            (bed.faults / "clock").unlink()
        result.count(bed)
    return result


# The disk.

@contextlib.contextmanager
def small_disk():
    """A file system in a file, whose path it gives with that of the file."""
    with tempfile.TemporaryDirectory(prefix="virtbed-disk-") as path:
        image = f"{path}/image"
        subprocess.run(["truncate", "-s", "48M", image], check=True)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
        os.mkdir(f"{path}/disk")
        mount(path)
        try:
            yield path
        finally:
            subprocess.run(["umount", "-l", f"{path}/disk"], check=True)


def mount(path):
    subprocess.run(["mount", "-o", "loop,errors=remount-ro", f"{path}/image", f"{path}/disk"], check=True)


def bad_disk(times, break_it, mend_it):
    result = Result()
    with small_disk() as path, Bed(state=f"{path}/disk/state", long=8) as bed:
        for _ in range(times):
            bed.submit("LONG", 2)
            bed.wait_state(bed.numbers[-2], "running", "starting")
            break_it(path)
            result.injected += 1
            try:
                bed.submit("SHORT", timeout=20)  # either it is safe, or refused
            except (Failed, subprocess.TimeoutExpired):
                pass
            bed.service.wait(150)  # it says why, and ends
            if "the store cannot be written" not in bed.said():
                raise Failed("it does not say why it ends")
            mend_it(path)
            since = time.monotonic()
            serve_again(bed, since, result)
            bed.wait_all()
        result.count(bed)
    return result


def fill(path):
    with contextlib.suppress(OSError), open(f"{path}/disk/filler", "wb", buffering=0) as filler:
        while True:
            filler.write(b"x" * 1024)


def disk_full(times):
    """All that people were told; what cannot be stored is refused, and the service ends. What ran is started again."""
    return bad_disk(times, fill, lambda path: os.unlink(f"{path}/disk/filler"))


def fail(path):
    """As if the disk had had an error: it is read-only from now on, whoever writes."""
    subprocess.run(["mount", "-o", "remount,abort", f"{path}/disk"], check=True)


def mend(path):
    subprocess.run(["umount", f"{path}/disk"], check=True)
    subprocess.run(["fsck.ext4", "-p", f"{path}/image"], stdout=subprocess.DEVNULL)
    mount(path)


def disk_readonly(times):
    """The same, once the file system was checked and mounted again."""
    return bad_disk(times, fail, mend)


# Hosts.

def libvirtds(bed):
    status = subprocess.run([LAB, "status", "--name", bed.name, "--json"], capture_output=True, text=True)
    blade = json.loads(status.stdout)["blades"][0]["blade_pid"]
    children = pathlib.Path(f"/proc/{blade}/task/{blade}/children").read_text().split()
    return [int(pid) for pid in children
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "libvirtd"]


def libvirtd_restart(times):
    """VMs and, unless libvirtd was being asked just then, tasks; where one is lost it is started again."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            time.sleep(random.uniform(0, 3))
            since = time.monotonic()
            for pid in libvirtds(bed):
                os.kill(pid, signal.SIGKILL)
            result.injected += 1
            bed.wait_state(number, "completed", "failed", "killed")
            result.recovered(since)
        result.count(bed)
    return result


def host_loss(times):
    """All VMs of the host die at once, and libvirtd with them: the task is lost, and started again in new ones."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            since = time.monotonic()
            for pid in libvirtds(bed) + processes(f"^/usr/bin/qemu-system.* guest=virtbed-{bed.name}-"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            result.injected += 1
            bed.wait_state(number, "completed", "failed", "killed", seconds=300)
            result.recovered(since)
        result.count(bed)
    return result


# Meters. The lab's BMC is ipmi_sim, which reads its watts from a file that the lab's first process writes.

def lying_bmc(times, watts):
    """Tasks; energy goes by what the BMC says."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        file = next(pathlib.Path(f"/run/virtbed/lab/{bed.name}").glob("*/watts"))
        writer = processes(f"--role=supervisor {bed.name}")
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            for pid in writer:
                os.kill(pid, signal.SIGSTOP)
            result.injected += 1
            for i in range(14):
                file.with_suffix(".lie").write_text(watts[i % len(watts)])
                file.with_suffix(".lie").rename(file)
                time.sleep(0.7)  # not in step with the sampling once a second
            since = time.monotonic()
            for pid in writer:
                os.kill(pid, signal.SIGCONT)
            bed.wait_state(number, "completed", "failed", "killed")
            result.recovered(since)
            bed.wait_metered()
        result.count(bed)
    return result


def bmc_hangs(times):
    """Tasks; the time without samples is a gap, flagged, whose energy is an estimate and no task's."""
    result = Result()
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            with stopped(processes(f"^ipmi_sim .*/lab/{bed.name}/")[0]):
                result.injected += 1
                time.sleep(15)
            since = time.monotonic()
            bed.wait_state(number, "completed", "failed", "killed")
            result.recovered(since)
            bed.wait_metered()
        result.count(bed)
    return result


def bmc_rubbish(times):
    """Tasks; the time without readings is a gap, as above."""
    return lying_bmc(times, ["rubbish"])


def bmc_wraps(times):
    """Tasks; energy goes by what the BMC says."""
    return lying_bmc(times, ["65535.000\n", "0.000\n"])


def bmc_freezes(times):
    """Tasks; energy goes by what the BMC says."""
    return lying_bmc(times, ["77.000\n"])


# name in the table, function, times in `./testbed check`, times for the table, needs VMs
FAULTS = [
    ("kill -9 of the controller at each stored step", controller_steps, 4, 40, False),
    ("kill -9 of the controller, any moment; VMs", controller_random, 0, 5, True),
    ("kill -9 of a local scheduler at each stored step; VMs", scheduler_steps, 0, 5, True),
    ("kill -9 of a local scheduler, any moment; VMs", scheduler_random, 0, 5, True),
    ("kill -9 of virtbed serve", supervisor_random, 1, 10, False),
    ("SIGSTOP of the controller, 12 s", controller_stopped, 0, 10, False),
    ("SIGSTOP of a local scheduler, 12 s", scheduler_stopped_less, 0, 10, False),
    ("SIGSTOP of a local scheduler, 50 s", scheduler_stopped_more, 0, 3, False),
    ("libvirtd killed and started again; VMs", libvirtd_restart, 0, 5, True),
    ("host loss; VMs", host_loss, 0, 5, True),
    ("network cut for 12 s", network_less, 1, 10, False),
    ("network cut for 50 s", network_more, 0, 3, False),
    ("BMC hangs for 15 s; VMs", bmc_hangs, 0, 3, True),
    ("BMC has rubbish for a reading, 10 s; VMs", bmc_rubbish, 0, 3, True),
    ("BMC jumps between 0 and 65535 W, 10 s; VMs", bmc_wraps, 0, 3, True),
    ("BMC freezes, 10 s; VMs", bmc_freezes, 0, 3, True),
    ("clock set by an hour, both ways", clock_step, 2, 20, False),
    ("disk full", disk_full, 1, 10, False),
    ("disk read-only", disk_readonly, 1, 10, False),
]

# Run by in_network() alone.
HIDDEN = {"cut_less": cut_less, "cut_more": cut_more}
