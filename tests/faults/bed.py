# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault is injected into: a service (`virtbed serve`), its daemons, and what it was asked to do.

Two kinds. A scripted bed has local schedulers without VMs (tests/unit/run/scripted-local-sched): tasks take
seconds, so that faults can be tried by the hundred. A real bed has the real ones, on a lab of one emulated
blade with VMs. Either way what was executed is read from what the far end wrote, never from the service's own
record: the scripted one's log, or the real one's stored events.
"""

import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VIRTBED_BUILD", ROOT / "build"))
VIRTBED = BUILD / "controller/cli/virtbed"
LAB = BUILD / "local-sched/lab/virtbed-lab"
IMAGE = pathlib.Path(os.environ.get("VIRTBED_IMAGE", BUILD / "image"))

SCRIPTED_CONFIG = """
name: {name}
clusters:
  - name: c1
    nodes: 2
    cores: 1
    memory_mib: 128{c1}
    hosts:
      - {{name: h1, uri: "test:///default", meter: {{kind: ipmi, address: 127.0.0.1, password_file: /dev/null, interval_s: 0.5}}}}
  - name: c2
    nodes: 2
    cores: 1
    memory_mib: 128{c2}
    hosts:
      - {{name: h2, uri: "test:///default", meter: {{kind: ipmi, address: 127.0.0.1, password_file: /dev/null, interval_s: 0.5}}}}
types:
  - {{name: SHORT, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 0.5}}
  - {{name: LONG, benchmark: cg, class: S, cores: 2, repetitions: {long}, memory_mib: 96, share: 0.5}}
service: {{mapping_interval_s: 5}}
workload: {{arrival_mean_s: 1, duration_s: 8, utility_max: [1]}}
experiment: {{policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 12, baseline_s: 1, task_deadline_s: 300}}
"""

LAB_CONFIG = """
name: {name}
clusters:
  - {{name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 500, base_mhz: 1000, hosts: [{{blade: b1}}]}}
types:
  - {{name: SHORT, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 0.5}}
  - {{name: LONG, benchmark: is, class: S, cores: 2, repetitions: 20, memory_mib: 96, share: 0.5}}
service: {{mapping_interval_s: 5}}
workload: {{arrival_mean_s: 1, duration_s: 8, utility_max: [1]}}
experiment: {{policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20, baseline_s: 4, task_deadline_s: 300}}
lab:
  blades:
    - {{name: b1, cpu_cores: 1.1, idle_w: 60, core_w: 100}}
"""


# Each is empty where the account of energy is whole: every interval, from one to the next, and the sums of all.
ACCOUNT = {
    "an interval is not what its parts are":
        "energy_interval WHERE to_uj - from_uj != idle_uj + tasks_uj + management_uj + unattributed_uj",
    "the tasks of the intervals of a minute are not what each of them used":
        "(SELECT run, host, sum(tasks_uj) AS tasks_uj, (SELECT max(n) FROM energy_part AS p WHERE p.run = i.run"
        " AND p.host = i.host AND p.n <= i.n) AS n FROM energy_interval AS i GROUP BY 1, 2, 4) AS i"
        " WHERE tasks_uj != (SELECT coalesce(sum(uj), 0) FROM energy_part AS p"
        " WHERE p.run = i.run AND p.host = i.host AND p.n = i.n)",
    "an interval is missing, or there twice":
        "(SELECT n - lag(n, 1, 0) OVER w AS step, from_uj - lag(to_uj, 1, from_uj) OVER w AS hole, mark"
        " FROM energy_interval WINDOW w AS (PARTITION BY run, host ORDER BY n))"
        " WHERE step != 1 OR (hole != 0 AND mark IS NOT 'new-counter')",
    "tasks and the rest are not what the meters counted":
        "(SELECT sum(idle_uj + management_uj + unattributed_uj) + (SELECT coalesce(sum(uj), 0) FROM energy_task)"
        " AS sum_uj, (SELECT sum(before_uj + at_uj - begin_uj) FROM energy_meter) AS meters_uj FROM energy_day)"
        " WHERE sum_uj != meters_uj",
    "a sample is there twice":
        "(SELECT time_s - lag(time_s) OVER (PARTITION BY run, host, seq ORDER BY time_s) AS step_s FROM sample)"
        " WHERE step_s < 0.3",
}

# The same of the samples at the ends of intervals, since local schedulers began that live on and can be asked.
SAMPLES = {
    "a sample is missing":
        "energy_interval AS i WHERE coalesce(mark, '') NOT IN ('unserved', 'new-counter') AND NOT EXISTS"
        " (SELECT 1 FROM sample AS s WHERE s.run = i.run AND s.host = i.host AND s.energy_uj = i.to_uj)"
        " AND to_s <= (SELECT max(time_s) FROM sample AS s WHERE s.run = i.run AND s.host = i.host)"
        " AND from_s > {began_s}",
}


class Failed(Exception):
    """What was to be seen was not."""


# A deadline is for what hangs: a machine that is slow, or in use, may take so many times as long.
PATIENCE = float(os.environ.get("VIRTBED_PATIENCE", 3))


def within(seconds, what, condition):
    """Waits for condition() to give something; returns it."""
    end = time.monotonic() + seconds * PATIENCE
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > end:
            raise Failed(f"not within {seconds * PATIENCE:.0f} s: {what}")
        time.sleep(0.05)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def processes(pattern):
    """Numbers of the processes whose command line has the pattern."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if re.search(pattern, line):
                found.append(int(entry.name))
    return found


class Bed:
    """A service with its daemons. Use it with `with`."""

    def __init__(self, real=False, state=None, addresses=None, long=10, environment=None):
        self.real = real
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="virtbed-fault-"))
        self.state = pathlib.Path(state) if state else self.dir / "state"
        self.socket = self.dir / "serve.sock"
        self.name = f"fault-{os.getpid()}-{self.dir.name[-6:].replace('_', '-')}".lower()
        self.executed_file = self.dir / "executed"
        self.faults = self.dir / "faults"
        self.faults.mkdir()
        self.words = self.dir / "words"
        self.service = None
        self.numbers = []
        self.began_s = 0
        self.long = long
        self.extra = environment or {}
        self.write_config(addresses or {})

    # Beginning and end.

    def write_config(self, addresses):
        clusters = {name: f"\n    local_scheduler: {addresses[name]}" if name in addresses else ""
                    for name in ("c1", "c2")}
        text = LAB_CONFIG if self.real else SCRIPTED_CONFIG
        self.config = self.dir / "config.yaml"
        new = self.dir / "config.new"  # who is starting may be reading the old one
        new.write_text(text.format(name=self.name, long=self.long, **clusters))
        new.rename(self.config)
        self.estimates = self.dir / "estimates.yaml"
        lines = ["estimates:"]
        for cluster in ("c1",) if self.real else ("c1", "c2"):
            lines.append(f"  - {{type: SHORT, cluster: {cluster}, etc_s: 2, eec_j: 40}}")
            lines.append(f"  - {{type: LONG, cluster: {cluster}, etc_s: {self.long}, eec_j: 80}}")
        self.estimates.write_text("\n".join(lines) + "\n")

    def environment(self):
        values = dict(os.environ, VIRTBED_URI=f"unix:{self.socket}", VIRTBED_FAULTS=str(self.faults),
                      LD_PRELOAD=str(BUILD / "tests/faults/fault-shim.so"), **self.extra)
        if self.real:
            values.update(VIRTBED_IMAGE=str(IMAGE), VIRTBED_VIRT_TYPE="qemu")
            return values
        libexec = self.dir / "libexec"
        if not libexec.exists():
            libexec.mkdir()
            (libexec / "virtbed-local-sched").symlink_to(BUILD / "tests/unit/run/scripted-local-sched")
            (libexec / "virtbed-controller").symlink_to(BUILD / "controller/api/virtbed-controller")
            (libexec / "manifest.json").write_text("{}")
        values.update(VIRTBED_LIBEXEC=str(libexec), VIRTBED_IMAGE=str(libexec),
                      VIRTBED_EXECUTED=str(self.executed_file))
        return values

    def __enter__(self):
        if self.real:
            done = subprocess.run([LAB, "up", self.config], capture_output=True, text=True)
            if done.returncode:
                raise Failed(f"no lab: {done.stderr}")
        try:
            self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind, value, traceback):
        if self.service:
            self.stop(check=False)
        if self.real:
            subprocess.run([LAB, "down", "--name", self.name], capture_output=True)
        if kind:
            print(self.said()[-4000:])
        pathlib.Path(f"/run/virtbed/locks/run-{self.name}.lock").unlink(missing_ok=True)
        if not kind or not os.environ.get("VIRTBED_KEEP"):
            shutil.rmtree(self.dir, ignore_errors=True)

    def start(self, wait=True):
        """Starts `virtbed serve`, and waits until it serves."""
        with open(self.words, "ab") as words:
            self.mark = words.tell()
            self.service = subprocess.Popen(
                [VIRTBED, "serve", self.config, "--estimates", self.estimates, "--state", self.state,
                 "--listen", f"unix:{self.socket}"],
                env=self.environment(), stdout=words, stderr=words, stdin=subprocess.DEVNULL,
                start_new_session=True)
        if wait:
            within(180, "serving", self.serves_or_ended)
            if self.service.poll() is not None:
                raise Failed(f"it did not start: {self.said()[-2000:]}")

    def serves_or_ended(self):
        return self.service.poll() is not None or self.serves()

    def stop(self, check=True):
        self.service.send_signal(signal.SIGTERM)
        try:
            status = self.service.wait(150)
        except subprocess.TimeoutExpired:
            self.service.kill()
            status = self.service.wait()
        self.service = None
        if check and status:
            raise Failed(f"it ended with status {status}")
        if check:
            with self.open_store() as store:
                self.began_s = store.execute("SELECT max(to_s) FROM energy_interval").fetchone()[0]

    def said(self):
        return self.words.read_text(errors="replace") if self.words.exists() else ""

    def pid(self, program):
        """The process that runs a daemon of this service."""
        return within(60, program, lambda: processes(f"^[^ ]*{program} .*{re.escape(str(self.state))}"))[0]

    # Asking.

    def ask(self, path, timeout=5):
        """The answer of the controller; None: there is none."""
        connection = UnixConnection(self.socket, timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status == 200 else None
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def serves(self):
        """Whether people can submit."""
        connection = UnixConnection(self.socket, 5)
        try:
            connection.request("POST", "/v1/tasks", body="[]", headers={"Content-Type": "application/json"})
            return connection.getresponse().status == 400  # it reads what it is asked
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def submit(self, kind, count=1, wait=False, timeout=300):
        """By `virtbed submit`, which asks again by itself where its answer was lost."""
        done = subprocess.run([VIRTBED, "submit", kind, "--count", str(count)] + ["--wait"] * wait,
                              env=dict(os.environ, VIRTBED_URI=f"unix:{self.socket}"),
                              capture_output=True, text=True, timeout=timeout)
        numbers = [int(number) for number in re.findall(r"^\d+$", done.stdout, re.MULTILINE)]
        if len(numbers) != count:
            raise Failed(f"virtbed submit: {done.stdout} {done.stderr}")
        self.numbers += numbers
        return numbers

    def order(self, *words):
        subprocess.run([VIRTBED, *map(str, words)], env=dict(os.environ, VIRTBED_URI=f"unix:{self.socket}"),
                       capture_output=True, text=True, timeout=300, check=True)

    def task(self, number):
        return self.ask(f"/v1/tasks/{number}") or {}

    def wait_state(self, number, *states, seconds=180):
        return within(seconds, f"task {number} is {states}",
                      lambda: self.task(number).get("state") in states)

    def wait_all(self, seconds=300):
        """Until every task that was submitted has ended."""
        ended = ("completed", "failed", "dropped", "killed")
        for number in self.numbers:
            self.wait_state(number, *ended, seconds=seconds)

    # What was really executed.

    def executed(self):
        """For each task number: how often it was started, and how often it ended well."""
        found = {}
        for kind, number, outcome in self.far_end():
            one = found.setdefault(number, {"started": 0, "completed": 0})
            one["started"] += kind == "started"
            one["completed"] += outcome == "completed"
        return found

    def far_end(self):
        if self.real:
            path = self.state / "state/c1/local.sqlite"
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
                for kind, task, detail in store.execute(
                        "SELECT kind, task, detail FROM events WHERE kind IN ('task-started', 'task-ended')"):
                    yield (kind[5:], int(task.split("-")[-2]), json.loads(detail).get("outcome"))
            return
        for line in self.executed_file.read_text().splitlines() if self.executed_file.exists() else []:
            kind, task, *outcome = line.split()
            yield kind, int(task.split("-")[-2]), outcome[0] if outcome else None

    def count(self, expected="completed"):
        """Of the tasks that were submitted: how many were lost, and how many were carried out twice."""
        executed = self.executed()
        record = {number: self.task(number).get("state") for number in self.numbers}
        lost = [number for number in self.numbers
                if record[number] != expected or executed.get(number, {}).get("completed", 0) < 1]
        doubled = [number for number in self.numbers if executed.get(number, {}).get("completed", 0) > 1]
        doubled += [number for number in executed if number not in self.numbers]
        if len(set(self.numbers)) != len(self.numbers):
            raise Failed(f"a number was given twice: {self.numbers}")
        for number in lost:
            print(f"lost: task {number}: {record[number]}, executed {executed.get(number)}")
        for number in doubled:
            print(f"doubled: task {number}: {record.get(number)}, executed {executed[number]}")
        return len(lost), len(doubled)

    def open_store(self):
        return contextlib.closing(sqlite3.connect(f"file:{self.state / 'run.sqlite'}?mode=ro", uri=True))

    def accounts(self):
        """How many intervals there is an account of."""
        with self.open_store() as store:
            return store.execute("SELECT count(*) FROM energy_interval").fetchone()[0]

    def wait_metered(self):
        """Until the meters have said more than they had."""
        before = self.accounts()
        within(60, "an interval of energy", lambda: self.accounts() > before + 1)

    def check_account(self, samples):
        """Of the energy that the meters counted nothing is missing from the record, or there twice."""
        with self.open_store() as store:
            store.execute("BEGIN")
            for what, rows in (ACCOUNT | SAMPLES if samples else ACCOUNT).items():
                found = store.execute(f"SELECT * FROM {rows.format(began_s=self.began_s)} LIMIT 3").fetchall()
                if found:
                    raise Failed(f"{what}: {found}")
        if not self.accounts():
            raise Failed("there is no account of energy")
