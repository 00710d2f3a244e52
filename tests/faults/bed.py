# SPDX-License-Identifier: GPL-3.0-or-later
"""What a fault is injected into: a service (`virtbed serve`), its daemons, and what it was asked to do.

Two kinds. A simulated bed has simulated clusters behind real local schedulers: tasks take seconds and no VMs, so
that faults can be tried by the hundred. A bed with VMs has a lab of one emulated blade. Either way what was
executed is read from the events that the local schedulers stored, never from the service's own record.
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
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("VIRTBED_BUILD", ROOT / "build"))
VIRTBED = BUILD / "controller/cli/virtbed"
LAB = BUILD / "local-sched/lab/virtbed-lab"
IMAGE = pathlib.Path(os.environ.get("VIRTBED_IMAGE", BUILD / "image"))

SIMULATED_CONFIG = """
name: {name}
clusters:
  - name: c1
    nodes: 2
    cores: 1
    memory_mib: 128
    {c1}
  - name: c2
    nodes: 2
    cores: 1
    memory_mib: 128
    {c2}
types:
  - {{name: SHORT, benchmark: is, class: S, cores: 2, memory_mib: 96, share: 0.5}}
  - {{name: LONG, benchmark: cg, class: S, cores: 2, memory_mib: 96, share: 0.5, preemptible: true}}
estimates:
  - {{type: SHORT, cluster: c1, etc_s: 1, eec_j: 40}}
  - {{type: SHORT, cluster: c2, etc_s: 1, eec_j: 40}}
  - {{type: LONG, cluster: c1, etc_s: {long}, eec_j: 80}}
  - {{type: LONG, cluster: c2, etc_s: {long}, eec_j: 80}}
service: {{mapping_interval_s: {interval}{service}}}
workload: {{arrival_mean_s: 1, duration_s: 8, utility_max: [1]}}
experiment: {{policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 12, baseline_s: 1, task_deadline_s: 300}}
"""

# What a cluster is for its local scheduler, and for a controller whose local schedulers are not its own: there they say
# themselves that they simulate.
SIMULATED = "simulated: {{idle_w: 60}}\n    hosts: [{{name: {host}}}]"
APART = ("local_scheduler: {address}\n    hosts: [{{name: {host}, uri: 'test:///default',"
         " meter: {{kind: ipmi, address: 127.0.0.1, password_file: /dev/null}}}}]")

# Keeps what a local scheduler stores of its events from its own retention.
KEEP_EVENTS = """
CREATE TABLE kept (seq INTEGER PRIMARY KEY, kind TEXT, task TEXT, detail TEXT);
CREATE TRIGGER keep AFTER INSERT ON events BEGIN
  INSERT INTO kept VALUES (new.seq, new.kind, new.task, new.detail);
END;
INSERT INTO kept SELECT seq, kind, task, detail FROM events;
"""

LAB_CONFIG = """
name: {name}
clusters:
  - {{name: c1, nodes: 2, cores: 1, memory_mib: 112, max_mhz: 400, base_mhz: 1000, hosts: [{{blade: b1}}]}}
types:
  - {{name: SHORT, benchmark: is, class: S, cores: 2, repetitions: 1, memory_mib: 96, share: 0.5}}
  - {{name: LONG, benchmark: is, class: S, cores: 2, repetitions: 16, memory_mib: 96, share: 0.5}}
service: {{mapping_interval_s: 5}}
workload: {{arrival_mean_s: 1, duration_s: 8, utility_max: [1]}}
experiment: {{policies: [easy], limits: [1], mapping_interval_s: 1, duration_s: 20, baseline_s: 4, task_deadline_s: 300}}
lab:
  blades:
    - {{name: b1, cpu_cores: 0.9, idle_w: 60, core_w: 100}}
"""


MINUTES = "the tasks of the intervals of a minute are not what each of them used"

# Each is empty where the account of energy is whole: every interval, from one to the next, and the sums of all.
ACCOUNT = {
    "an interval is not what its parts are":
        "energy_interval WHERE to_uj - from_uj != idle_uj + tasks_uj + management_uj + unattributed_uj",
    MINUTES:
        "(SELECT run, host, sum(tasks_uj) AS tasks_uj, (SELECT max(n) FROM energy_part AS p WHERE p.run = i.run"
        " AND p.host = i.host AND p.n <= i.n) AS n FROM energy_interval AS i GROUP BY 1, 2, 4) AS i"
        " WHERE tasks_uj != (SELECT coalesce(sum(uj), 0) FROM energy_part AS p"
        " WHERE p.run = i.run AND p.host = i.host AND p.n = i.n)",
    "an interval is missing, or there twice":
        "(SELECT n - lag(n, 1, {first}) OVER w AS step, from_uj - lag(to_uj, 1, from_uj) OVER w AS hole, mark"
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

# The samples at the ends of intervals, since the start of local schedulers that live on and can be asked.
SAMPLES = {
    "a sample is missing":
        "energy_interval AS i WHERE coalesce(mark, '') NOT IN ('unserved', 'new-counter', 'missed') AND NOT EXISTS"
        " (SELECT 1 FROM sample AS s WHERE s.run = i.run AND s.host = i.host AND s.energy_uj = i.to_uj)"
        " AND to_s <= (SELECT max(time_s) FROM sample AS s WHERE s.run = i.run AND s.host = i.host)"
        " AND from_s > {began_s}",
}


ENDED = ("completed", "failed", "dropped", "killed")


class Failed(Exception):
    """What was to be seen was not."""


# A deadline is for what hangs: a machine that is slow, or in use, may take so many times as long.
PATIENCE = float(subprocess.check_output(
    ["bash", "-c", '. "$0" && echo $within_patience', ROOT / "tests/integration/within.bash"]))


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

    def __init__(self, real=False, state=None, long=10, service=None, schedulers=None):
        """`schedulers`: cluster -> (address, state directory) of local schedulers that are not the service's.
        `service`: keys of its section beside mapping_interval_s."""
        self.real = real
        self.service_keys = service or {}
        self.schedulers = schedulers or {}
        self.keeps = "retention_days" in self.service_keys
        self.interval_s = 5
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="virtbed-fault-"))
        self.state = pathlib.Path(state) if state else self.dir / "state"
        self.socket = self.dir / "serve.sock"
        self.name = f"fault-{os.getpid()}-{self.dir.name[-6:].replace('_', '-')}".lower()
        self.faults = self.dir / "faults"
        self.faults.mkdir()
        self.words = self.dir / "words"
        self.service = None
        self.numbers = []
        self.began_s = 0
        self.long = long
        self.write_config()

    # Beginning and end.

    def write_config(self):
        self.config = self.dir / "config.yaml"
        self.write_one(self.config, APART if self.schedulers else SIMULATED)
        if self.schedulers:
            self.write_one(self.dir / "schedulers.yaml", SIMULATED)
        self.estimates = self.dir / "estimates.yaml"
        self.estimates.write_text("estimates:\n  - {type: SHORT, cluster: c1, etc_s: 2, eec_j: 40}\n"
                                  f"  - {{type: LONG, cluster: c1, etc_s: {self.long}, eec_j: 80}}\n")

    def write_one(self, path, cluster):
        text = LAB_CONFIG if self.real else SIMULATED_CONFIG
        new = path.with_suffix(".new")  # a starting process may be reading the old one
        service = "".join(f", {key}: {value}" for key, value in self.service_keys.items())
        clusters = {name: cluster.format(address=self.schedulers.get(name, [None])[0], host=f"h-{name}")
                    for name in ("c1", "c2")}
        new.write_text(text.format(name=self.name, long=self.long, interval=self.interval_s, service=service,
                                   **clusters))
        new.rename(path)

    def environment(self):
        values = dict(os.environ, VIRTBED_URI=f"unix:{self.socket}", VIRTBED_FAULTS=str(self.faults),
                      LD_PRELOAD=str(BUILD / "tests/faults/fault-shim.so"))
        if self.real:
            values.update(VIRTBED_IMAGE=str(IMAGE), VIRTBED_VIRT_TYPE="qemu")
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
                [VIRTBED, "serve", self.config, "--state", self.state, "--listen", f"unix:{self.socket}",
                 *(["--estimates", self.estimates] if self.real else [])],
                env=self.environment(), stdout=words, stderr=words, stdin=subprocess.DEVNULL,
                start_new_session=True)
        if wait:
            within(180, "serving", self.serves_or_ended)
            if self.service.poll() is not None:
                raise Failed(f"it did not start: {self.said()[-2000:]}")
            if self.keeps:
                self.keep_events()

    def keep_events(self):
        for path in self.stores():
            with contextlib.closing(sqlite3.connect(path, timeout=60)) as store:
                if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept'").fetchone():
                    store.executescript("BEGIN;" + KEEP_EVENTS + "COMMIT;")

    def serves_or_ended(self):
        return self.service.poll() is not None or self.serves()

    def stop(self, check=True):
        self.service.send_signal(signal.SIGTERM)
        try:
            status = self.service.wait(50 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.service.kill()
            status = self.service.wait()
        self.service = None
        if check and status:
            raise Failed(f"it ended with status {status}")
        if check:
            with self.open_store() as store:
                self.began_s = store.execute("SELECT max(to_s) FROM energy_interval").fetchone()[0]

    def keep_serving(self):
        """Starts the service again where it ended, as its operator would."""
        if self.service.poll() is not None:
            self.start(wait=False)

    def said(self):
        return self.words.read_text(errors="replace") if self.words.exists() else ""

    def pid(self, program):
        """The process that runs a daemon of this service."""
        return within(60, program, lambda: self.daemons(program))[0]

    def daemons(self, program):
        return processes(f"^[^ ]*{program} .*{re.escape(str(self.state))}")

    # Asking.

    def ask(self, path, timeout=5 * PATIENCE):
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

    def submit(self, kind, count=1, timeout=300):
        """By `virtbed submit`, which asks again by itself where its answer was lost."""
        return self.take_numbers(count, self.try_submit(kind, count, timeout))

    def submit_surely(self, kind, count=1):
        """As submit(), by a client that repeats the request with the same key, whichever process dies: one submission."""
        key = str(uuid.uuid4())

        def ask():
            self.keep_serving()
            done = self.try_submit(kind, count, 300, "--key", key)
            return done if done.returncode == 0 else None
        return self.take_numbers(count, within(120, f"{kind} is submitted", ask))

    def try_submit(self, kind, count, timeout, *options):
        return subprocess.run([VIRTBED, "submit", kind, "--count", str(count), *options],
                              env=dict(os.environ, VIRTBED_URI=f"unix:{self.socket}"),
                              capture_output=True, text=True, timeout=timeout)

    def take_numbers(self, count, done):
        numbers = [int(number) for number in re.findall(r"^\d+$", done.stdout, re.MULTILINE)]
        if len(numbers) != count:
            raise Failed(f"virtbed submit: {done.stdout} {done.stderr}")
        self.numbers += numbers
        return numbers

    def order(self, *words):
        subprocess.run([VIRTBED, *map(str, words)], env=dict(os.environ, VIRTBED_URI=f"unix:{self.socket}"),
                       capture_output=True, text=True, timeout=300, check=True)

    def post(self, path, body=None):
        """Whether a person's order is granted: False where it is refused, or not answered."""
        connection = UnixConnection(self.socket, 10 * PATIENCE)
        try:
            connection.request("POST", path, json.dumps(body or {}))
            return connection.getresponse().status in (200, 201, 202, 204)
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def check_output_refused(self, number, seconds):
        """A request for output that cannot be had is refused soon, with the name of its local scheduler."""
        since = time.monotonic()
        connection = UnixConnection(self.socket, 60 * PATIENCE)
        try:
            connection.request("GET", f"/v1/tasks/{number}/output")
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        took_s = time.monotonic() - since
        if answer.status != 503 or "local scheduler of cluster 'c" not in text or took_s > seconds * PATIENCE:
            raise Failed(f"output was answered {answer.status} after {took_s:.1f} s: {text}")

    def insist(self, path, settled=lambda: False, body=None):
        """Asks until it is granted, or settled() otherwise. Returns whether it was granted."""
        def answer():
            self.keep_serving()
            return "granted" if self.post(path, body) else "settled" if settled() else None
        return within(120, f"{path} is granted", answer) == "granted"

    def task(self, number):
        return self.ask(f"/v1/tasks/{number}") or {}

    def wait_state(self, number, *states, seconds=180):
        return within(seconds, f"task {number} is {states}",
                      lambda: self.task(number).get("state") in states)

    def wait_all(self, seconds=300):
        """Until every task that was submitted has ended."""
        for number in self.numbers:
            self.wait_state(number, *ENDED, seconds=seconds)

    # What was really executed.

    def stores(self):
        """Of the local schedulers."""
        found = []
        for cluster in ("c1",) if self.real else ("c1", "c2"):
            directory = self.schedulers[cluster][1] if cluster in self.schedulers else self.state / "state" / cluster
            found.append(pathlib.Path(directory) / "local.sqlite")
        return found

    def far_end(self):
        """Kind, task number, attempt and outcome of all that the local schedulers stored of tasks."""
        for path in self.stores():
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as store:
                for kind, task, detail in store.execute(
                        f"SELECT kind, task, detail FROM {'kept' if self.keeps else 'events'}"
                        " WHERE kind IN ('task-started', 'task-ended') ORDER BY seq"):
                    number, attempt = task.split("-")[-2:]
                    yield kind[5:], int(number), int(attempt), json.loads(detail).get("outcome")

    def executed(self):
        """For each task number: its attempts that were started, and those that ended well."""
        found = {}
        for kind, number, attempt, outcome in self.far_end():
            one = found.setdefault(number, {"started": [], "completed": []})
            if kind == "started":
                one["started"].append(attempt)
            elif outcome == "completed":
                one["completed"].append(attempt)
        return found

    def count(self, cancelled=(), forgets=False):
        """Of the tasks that were submitted: how many were lost, and how many were carried out twice. Those that
        were cancelled may have completed just before, but then record and far end say so both. `forgets`: a local
        scheduler could not store all that it did."""
        executed = self.executed()
        tasks = {number: within(60, f"an answer about task {number}", lambda: self.task(number))
                 for number in self.numbers}
        lost = []
        doubled = [number for number in executed if number not in self.numbers]
        for number, task in tasks.items():
            done = executed.get(number, {"started": [], "completed": []})
            well = task.get("state") == "completed"
            if (not well and number not in cancelled) or (well and not done["completed"] and not forgets):
                lost.append(number)
            if len(done["completed"]) > 1 or (done["completed"] and not well):
                doubled.append(number)
            if task.get("state") not in ENDED:
                raise Failed(f"task {number} has not ended: {task}")
            if len(set(done["started"])) != len(done["started"]):
                raise Failed(f"an attempt of task {number} was started twice: {done}")
            if done["started"] and max(done["started"]) > task["attempts"]:
                raise Failed(f"there is no record of an attempt of task {number}: {done}, {task}")
        if len(set(self.numbers)) != len(self.numbers):
            raise Failed(f"a number was given twice: {self.numbers}")
        for what, numbers in ("lost", lost), ("doubled", doubled):
            for number in numbers:
                print(f"{what}: task {number}: {tasks.get(number)}, executed {executed.get(number)}")
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

    def meters(self):
        """What is on record of gaps, and how many samples there are of each number of watts."""
        with self.open_store() as store:
            store.execute("BEGIN")
            gap_s, tasks_uj = store.execute("SELECT coalesce(sum(to_s - from_s), 0), coalesce(sum(tasks_uj), 0)"
                                            " FROM energy_interval WHERE mark = 'gap'").fetchone()
            return {"gap_s": gap_s, "gap_tasks_uj": tasks_uj,
                    "gap_samples": store.execute("SELECT sum(gap) FROM sample").fetchone()[0] or 0,
                    "samples": dict(store.execute("SELECT mw / 1000, count(*) FROM sample GROUP BY 1"))}

    def check_account(self, samples):
        """Of the energy that the meters counted nothing is missing from the record, or there twice."""
        within(60, "an account of energy", self.accounts)
        with self.open_store() as store:
            store.execute("BEGIN")
            began_s = self.began_s
            if self.keeps:  # what is older may have been pruned
                began_s = max(began_s, store.execute("SELECT max(to_s) - 30 FROM energy_interval").fetchone()[0])
            for what, rows in (ACCOUNT | SAMPLES if samples else ACCOUNT).items():
                if self.keeps and what == MINUTES:  # of the first minute a part may have gone
                    continue
                rows = rows.format(began_s=began_s, first="n - 1" if self.keeps else 0)
                found = store.execute(f"SELECT * FROM {rows} LIMIT 3").fetchall()
                if found:
                    raise Failed(f"{what}: {found}")
