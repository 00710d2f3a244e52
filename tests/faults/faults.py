# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults: each is injected a number of times, and says what is kept (the text of the table)."""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import steps
from bed import BUILD, ENDED, LAB, Bed, Failed, processes, within
from result import Result

# Less and more than how long a local scheduler may be silent before it is away: 30 s (REMOTE_LINK_AWAY_S), and what it
# takes until a request is over.
LESS_S = 12
MORE_S = 50


def serve_again(bed, since, result):
    def state():
        bed.keep_serving()
        return bed.serves()
    within(120, "serving again", state)
    result.recovered(since)


# kill -9.

def controller_random(times):
    """The same: the task runs on in its VMs, and its end is heard of."""
    result = Result(times)
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
    result = Result(times)
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


def supervisor_random(times):
    """What waited waits, what was submitted is there; what ran is started again."""
    result = Result(times)
    with Bed(long=5) as bed:
        for _ in range(times):
            bed.submit("SHORT", 2)
            bed.submit("LONG", 1)
            time.sleep(random.uniform(0, 4))
            since = time.monotonic()
            bed.service.kill()
            bed.service.wait()
            result.injected += 1
            within(60, "the daemons of a service that was killed end",
                   lambda: not bed.daemons("virtbed-(controller|local-sched)"))
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
    """Everything; requests wait."""
    result = Result(times)
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


def supervisor_stopped(times):
    """Everything: the daemons serve without it."""
    result = Result(times)
    with Bed(long=3) as bed:
        for _ in range(times):
            pid = bed.pid("virtbed-controller")
            number = bed.submit("LONG")[0]
            with stopped(bed.service.pid):
                result.injected += 1
                since = time.monotonic()
                bed.submit("SHORT", 2)
                result.recovered(since)
                bed.wait_all()
                bed.wait_state(number, "completed")
                time.sleep(max(0, since + LESS_S - time.monotonic()))
            if bed.pid("virtbed-controller") != pid or bed.service.poll() is not None:
                raise Failed("the controller is another one")
        result.count(bed, samples=True)
    return result


def come_back(bed, away, result, beside=()):
    """All clusters are there again, and all tasks have ended: the first, or where none was away the last, counts. The
    tasks `beside`, one for each cluster, do not wait for one another, though one cluster is back first."""
    since = time.monotonic()
    within(90, "the clusters are back", lambda: all(
        not c["away"] and not c["down"]
        for c in (bed.ask("/v1/clusters") or {"clusters": [{"away": True}]})["clusters"]
        if c.get("drained") != c.get("nodes")))
    if away:
        result.recovered(since)
    for number in beside:
        bed.wait_state(number, "running", *ENDED, seconds=bed.long / 4)
    bed.wait_all(seconds=400)
    if not away:
        result.recovered(since)


def scheduler_silent(times, seconds, long, away):
    result = Result(times)
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
    return scheduler_silent(times, MORE_S, 100, True)


# The network, in a namespace of its own.

def in_network(name, times):
    """Runs one of the faults below where no other process uses the loopback interface."""
    here = pathlib.Path(__file__).resolve().parent
    done = subprocess.run(["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", here / "run",
                           "--raw", str(times), name], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failed(f"{name}: {done.stdout}")
    result = Result(times)
    words = done.stdout.split("\n")[-2].split()
    result.injected, result.lost, result.doubled = map(int, words[:3])
    result.recovered_s = float(words[3])
    return result


@contextlib.contextmanager
def apart(addresses, directory=None, **settings):
    """A bed whose local schedulers are not the service's, as on machines of their own; state is in `directory`.
    Gives it with the function that starts one of them, and their processes."""
    places = {name: (address, None) for name, address in addresses.items()}
    bed = Bed(schedulers=places, **settings)
    started = {}
    for name, address in addresses.items():
        places[name] = (address, f"{directory or bed.dir}/ls-{name}")

    def start(name):
        started[name] = subprocess.Popen(
            [BUILD / "local-sched/virtbed-local-sched", "--config", bed.dir / "schedulers.yaml", "--cluster",
             name, "--state", places[name][1], "--listen", addresses[name]],
            env=bed.environment(), stdout=bed.words.open("ab"), stderr=subprocess.STDOUT)

    try:
        for name in addresses:
            start(name)
        yield bed, start, started
    finally:
        for process in started.values():
            process.terminate()
            process.wait()


def cut(times, seconds, long, away):
    result = Result(times)
    addresses = {"c1": "http://127.0.0.1:7101", "c2": "http://127.0.0.1:7102"}
    with apart(addresses, long=long) as (bed, _, _), bed:
        for _ in range(times):
            bed.submit("LONG", 2)
            for number in bed.numbers[-2:]:
                bed.wait_state(number, "running")
            subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
            result.injected += 1
            until = time.monotonic() + seconds
            if not away:
                bed.check_output_refused(bed.numbers[-1], 8)
            time.sleep(max(0, until - time.monotonic()))
            if away:
                bed.check_output_refused(bed.numbers[-1], 2)
            states = [bed.task(number)["state"] for number in bed.numbers[-2:]]
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
            if states != ["waiting" if away else "running"] * 2:
                raise Failed(f"not cut off: {states}")
            come_back(bed, away, result, bed.numbers[-2:] if away else ())
        result.count(bed, samples=True)
    return result


def cut_less(times):
    return cut(times, LESS_S, 20, False)


def cut_more(times):
    return cut(times, MORE_S, 100, True)


def network_less(times):
    """The task: it is the same attempt that ends, and its end is heard of."""
    return in_network("cut_less", times)


def network_more(times):
    """The task waits, and is started again where there is a way; attempts that still ran are killed."""
    return in_network("cut_more", times)


# The clock.

def clock_step(times):
    """Everything: times come from a clock that is not set; what is shown in UTC of events follows the clock as it is
    set now."""
    result = Result(times)
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
                if not 0 < task["ended_s"] - task["arrival_s"] < 1800:
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
    result = Result(times)
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
            # What the local schedulers stored is on disk some time later; that is what will be counted by.
            subprocess.run(["sync", "-f", f"{path}/disk"], check=True)
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
    """As if the disk had had an error: it is read-only from now on, for every process."""
    subprocess.run(["mount", "-o", "remount,abort", f"{path}/disk"], check=True)


def take_out(path):
    """Replaces the disk by a copy: mounts of the failed disk in other namespaces keep it as it is. A process that was
    killed may still have files open for a moment."""
    within(30, "the disk can be taken out",
           lambda: subprocess.run(["umount", f"{path}/disk"], capture_output=True).returncode == 0)
    shutil.copyfile(f"{path}/image", f"{path}/copy")
    os.replace(f"{path}/copy", f"{path}/image")


def mend(path):
    take_out(path)
    fsck = subprocess.run(["fsck.ext4", "-f", "-y", f"{path}/image"], capture_output=True, text=True)
    if fsck.returncode > 1:  # 1: mended
        raise Failed(f"fsck: {fsck.stdout} {fsck.stderr}")
    mount(path)


def disk_readonly(times):
    """The same, once the file system was checked and mounted again."""
    return bad_disk(times, fail, mend)


def scheduler_disk(times, break_it, mend_it, forgets):
    """A local scheduler whose disk alone is broken while a task runs on it, ends, and others are submitted."""
    result = Result(times)
    with small_disk() as path, tempfile.TemporaryDirectory(prefix="virtbed-ls-") as sockets:
        addresses = {name: f"unix:{sockets}/{name}" for name in ("c1", "c2")}
        with apart(addresses, f"{path}/disk", long=15) as (bed, start, started), bed:
            for _ in range(times):
                bed.wait_metered()
                long = bed.submit("LONG", 2)
                for number in long:
                    bed.wait_state(number, "running")
                told = bed.said().count("task cannot be stored")
                break_it(path)
                result.injected += 1
                short = bed.submit("SHORT", 2)
                for number in long:
                    bed.wait_state(number, *ENDED)
                within(60, "a task is refused", lambda: bed.said().count("task cannot be stored") > told)
                mend_it(path, bed, start, started)
                since = time.monotonic()
                for number in short:
                    bed.wait_state(number, *ENDED)
                result.recovered(since)
            result.count(bed, forgets=forgets)
    return result


def empty(path, bed, start, started):
    os.unlink(f"{path}/disk/filler")


def mend_and_start(path, bed, start, started):
    for process in started.values():
        process.terminate()
        process.wait()
    mend(path)
    for name in started:
        start(name)


def fail_later(path):
    """As fail(), for a disk that has all former writes."""
    subprocess.run(["sync", "-f", f"{path}/disk"], check=True)
    fail(path)


def scheduler_disk_full(times):
    """All: it continues, and stores what was done meanwhile once there is room. Tasks that it cannot store it refuses,
    and they wait."""
    return scheduler_disk(times, fill, empty, False)


def scheduler_disk_readonly(times):
    """The same, once the file system was checked and mounted, and it was started again: the controller learned of the ends."""
    return scheduler_disk(times, fail_later, mend_and_start, True)


# Power.

# Of a file system that is to write nothing more from now on, not even its journal (fs/ext4/ext4.h, as xfstests' godown).
EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = 2


def cut_power(path, pids):
    """What the processes wrote and did not sync is gone when the disk is mounted again, unless the kernel had written it by
    itself; names in directories as well as bytes."""
    disk = os.open(f"{path}/disk", os.O_RDONLY)
    try:
        unsynced(path).write_bytes(bytes(4096))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        fcntl.ioctl(disk, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    finally:
        os.close(disk)


def unsynced(path):
    return pathlib.Path(f"{path}/disk/unsynced")


def die(bed, path, program):
    """The power of a machine fails on which the service runs, and daemons like `program`; it boots, and the disk is there."""
    daemons = bed.daemons(program)
    cut_power(path, [bed.service.pid, *daemons])
    bed.service.wait()
    within(60, "they have ended", lambda: not bed.daemons(program))
    take_out(path)
    mount(path)
    if unsynced(path).exists() and unsynced(path).stat().st_size:
        raise Failed("what was not synced was on disk: the power was not cut")
    unsynced(path).unlink(missing_ok=True)


def live_and_lose_power(bed, path, program, result):
    """People submit, cancel and hold, and are told so, when the power fails; all that is so afterwards."""
    long, cancelled = bed.submit("LONG"), bed.submit("LONG")
    bed.wait_state(long[0], "running", "starting")
    time.sleep(random.uniform(0, 3))
    held = bed.submit("SHORT")[0]
    if not bed.post(f"/v1/tasks/{cancelled[0]}/cancel"):
        raise Failed(f"task {cancelled[0]} cannot be cancelled")
    is_held = bed.post(f"/v1/tasks/{held}/hold")  # unless it was started
    bed.submit("SHORT", 2)
    time.sleep(random.uniform(0, 1))
    die(bed, path, program)
    result.injected += 1
    since = time.monotonic()
    bed.start()
    result.recovered(since)
    bed.wait_state(cancelled[0], *ENDED)
    if is_held:
        steps.check_kept(bed, held, "waiting")
        bed.insist(f"/v1/tasks/{held}/release", lambda: bed.task(held).get("state") not in ("waiting", None))
    bed.wait_all()
    return cancelled


def lose_power(bed, path, program, times, **judging):
    result, cancelled = Result(times), []
    for _ in range(times):
        cancelled += live_and_lose_power(bed, path, program, result)
    result.count(bed, cancelled=cancelled, **judging)
    return result


def power_loss(times):
    """All that people were told. What ran is started again."""
    with small_disk() as path, Bed(state=f"{path}/disk/state", long=8) as bed:
        return lose_power(bed, path, "virtbed-(controller|local-sched)", times, forgets=True)


def power_loss_controller(times):
    """All that people were told. Local schedulers that live on are asked what became of what ran; of the last second's starts
    some may be repeated."""
    with small_disk() as path, tempfile.TemporaryDirectory(prefix="virtbed-ls-") as sockets:
        addresses = {name: f"unix:{sockets}/{name}" for name in ("c1", "c2")}
        with apart(addresses, state=f"{path}/disk/state", long=8) as (bed, _, _), bed:
            return lose_power(bed, path, "virtbed-controller", times)


# Hosts.

def libvirtds(bed):
    status = subprocess.run([LAB, "status", "--name", bed.name, "--json"], capture_output=True, text=True)
    blade = json.loads(status.stdout)["blades"][0]["blade_pid"]
    children = pathlib.Path(f"/proc/{blade}/task/{blade}/children").read_text().split()
    return [int(pid) for pid in children
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "libvirtd"]


def libvirtd_restart(times):
    """VMs and, unless libvirtd was being asked just then, tasks; where one is lost it is started again."""
    result = Result(times)
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


def libvirtd_stopped(times):
    """VMs and tasks."""
    result = Result(times)
    with Bed(real=True, long=20) as bed:
        for _ in range(times):
            number = bed.submit("LONG")[0]
            bed.wait_state(number, "running")
            with contextlib.ExitStack() as stack:
                for pid in libvirtds(bed):
                    stack.enter_context(stopped(pid))
                result.injected += 1
                time.sleep(LESS_S)
            since = time.monotonic()
            bed.wait_state(number, "completed", "failed", "killed")
            result.recovered(since)
        result.count(bed)
    return result


def host_loss(times):
    """All VMs of the host die at once, and libvirtd with them: the task is lost, and started again in new ones."""
    result = Result(times)
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

def metered(bed, times, begin, end, check):
    """A task runs on over begin() to end(); `check` tells whether the record shows it, from what it was before."""
    result = Result(times)
    for _ in range(times):
        bed.wait_metered()  # the account has begun
        before = bed.meters()
        number = bed.submit("LONG")[0]
        bed.wait_state(number, "running")
        try:
            begin()
            result.injected += 1
        finally:
            end()
        since = time.monotonic()
        bed.wait_state(number, "completed", "failed", "killed")
        result.recovered(since)
        try:
            within(30, "what it did is on record", lambda: check(before, bed.meters()))
        except Failed:
            raise Failed(f"what it did is not on record: {before} became {bed.meters()}") from None
    gap_uj = bed.meters()["gap_tasks_uj"]
    if gap_uj:
        raise Failed(f"tasks were given {gap_uj} uJ of gaps")
    result.count(bed)
    return result


def lying_bmc(times, watts, check):
    with Bed(real=True, long=20) as bed:
        file = next(pathlib.Path(f"/run/virtbed/lab/{bed.name}").glob("*/watts"))
        writer = processes(f"--role=supervisor {bed.name}")

        def lie():
            for pid in writer:
                os.kill(pid, signal.SIGSTOP)
            for i in range(14):
                file.with_suffix(".lie").write_text(watts[i % len(watts)])
                file.with_suffix(".lie").rename(file)
                time.sleep(0.7)  # not in step with the sampling once a second

        def be_honest():
            for pid in writer:
                os.kill(pid, signal.SIGCONT)

        return metered(bed, times, lie, be_honest, check)


def has_gap(seconds):
    """A gap of so long more than there was, with a sample that says so."""
    def check(before, after):
        return after["gap_s"] - before["gap_s"] > seconds and after["gap_samples"] > before["gap_samples"]
    return check


def has_samples(count, *watts):
    """So many more samples of each of these watts."""
    def check(before, after):
        return all(after["samples"].get(w, 0) - before["samples"].get(w, 0) >= count for w in watts)
    return check


def bmc_hangs(times):
    """Tasks; the time without samples is a gap, flagged, whose energy is an estimate and no task's."""
    with Bed(real=True, long=20) as bed:
        pid = processes(f"^ipmi_sim .*/lab/{bed.name}/")[0]

        def hang():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(15)

        return metered(bed, times, hang, lambda: os.kill(pid, signal.SIGCONT), has_gap(8))


def bmc_rubbish(times):
    """Tasks; the time without readings is a gap, as above."""
    return lying_bmc(times, ["rubbish"], has_gap(4))


def bmc_wraps(times):
    """Tasks; the top of its range is no reading: energy goes by the others, and where there are none it is a gap."""
    def check(before, after):
        return max(after["samples"]) < 65535 and has_samples(1, 0)(before, after)
    return lying_bmc(times, ["65535.000\n", "0.000\n"], check)


def bmc_freezes(times):
    """Tasks; energy goes by what the BMC says: sample for sample."""
    return lying_bmc(times, ["77.000\n"], has_samples(4, 77))


# name in the table, function, times in `./testbed check`, times for the table, needs VMs. Of rows "at each stored
# step": every how many steps.
FAULTS = [
    ("kill -9 of the controller at each stored step", steps.controller_steps, 13, 1, False),
    ("kill -9 of a local scheduler at each stored step", steps.scheduler_steps, 7, 1, False),
    ("kill -9 of either at each stored step of a first start", steps.first_steps, 0, 1, False),
    ("kill -9 of the controller, any moment; VMs", controller_random, 0, 5, True),
    ("kill -9 of a local scheduler, any moment; VMs", scheduler_random, 0, 5, True),
    ("kill -9 of virtbed serve", supervisor_random, 1, 10, False),
    ("SIGSTOP of virtbed serve, 12 s", supervisor_stopped, 0, 5, False),
    ("SIGSTOP of the controller, 12 s", controller_stopped, 0, 10, False),
    ("SIGSTOP of a local scheduler, 12 s", scheduler_stopped_less, 0, 10, False),
    ("SIGSTOP of a local scheduler, 50 s", scheduler_stopped_more, 0, 3, False),
    ("SIGSTOP of libvirtd, 12 s; VMs", libvirtd_stopped, 0, 3, True),
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
    ("loss of power", power_loss, 1, 10, False),
    ("loss of power of the controller's machine alone", power_loss_controller, 0, 10, False),
    ("disk of the local schedulers full", scheduler_disk_full, 1, 5, False),
    ("disk of the local schedulers read-only", scheduler_disk_readonly, 1, 5, False),
]

# Run by in_network() alone.
HIDDEN = {"cut_less": cut_less, "cut_more": cut_more}
