# SPDX-License-Identifier: GPL-3.0-or-later
"""`virtbed serve` in a directory of its own, with simulated clusters and real local schedulers, stores and
sockets, and requests to it: what the benchmarks of this folder are made of."""

import collections
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time

# Cores and estimated seconds; one node has one core, so that the mean task takes two nodes.
TYPES = [("NARROW", 1, 900), ("MIDDLE", 2, 600), ("WIDE", 4, 1200)]
# Of ten tasks.
MIX = ["NARROW"] * 5 + ["MIDDLE"] * 2 + ["WIDE"] * 3


def write_config(path, args, name):
    lines = [f"name: {name}", "clusters:"]
    for i in range(args.clusters):
        lines.append(f"  - {{name: s{i}, nodes: {args.nodes}, cores: 1, memory_mib: 256, "
                     f"simulated: {{idle_w: {100 + i % 7}, seed: {i + 1}, speed: {args.speed}}}}}")
    lines.append("types:")
    for i, (kind, cores, _) in enumerate(TYPES):
        lines.append(f"  - {{name: {kind}, benchmark: is, class: S, cores: {cores}, memory_mib: 128, "
                     f"share: {1 if i == 0 else 0}}}")
    lines.append("estimates:")
    for i in range(args.clusters):
        for kind, cores, etc_s in TYPES:
            scale = 1 + (i % 5) / 10
            lines.append(f"  - {{type: {kind}, cluster: s{i}, etc_s: {etc_s * scale:g}, "
                         f"etc_sd_s: {etc_s * 0.1:g}, eec_j: {etc_s * cores * 20:g}}}")
    lines += ["workload: {arrival_mean_s: 1, duration_s: 10, utility_max: [1]}",
              f"experiment: {{policies: [{args.policy}], limits: [1], mapping_interval_s: {args.interval:g}, "
              "duration_s: 100, baseline_s: 2, task_deadline_s: 1000000}",
              f"service: {{policy: {args.policy}, mapping_interval_s: {args.interval:g}, "
              f"tasks_max: {args.tasks_max}, retention_days: {args.retention_days:g}}}"]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


class Service:
    """`virtbed serve` in a directory of its own."""

    def __init__(self, args, directory, write=write_config):
        self.args = args
        self.directory = directory
        self.socket = os.path.join(directory, "s.sock")
        self.state = os.path.join(directory, "state")
        self.config = os.path.join(directory, "config.yaml")
        self.process = None
        write(self.config, args, f"speed-{os.getpid()}")

    def start(self, within_s=300, **environment):
        with open(os.path.join(self.directory, "serve.log"), "ab") as log:
            began = time.monotonic()
            self.process = subprocess.Popen(
                [os.path.join(self.args.build, "controller/cli/virtbed"), "serve", self.config,
                 "--state", self.state, "--listen", f"unix:{self.socket}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **environment})
        self.wait_serving(within_s)
        return time.monotonic() - began

    def wait_serving(self, within_s):
        """Until tasks can be asked for; a service that ended is told."""
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            if self.process.poll() is not None:
                sys.exit(f"virtbed serve ended ({self.process.returncode}); see {self.directory}/serve.log")
            try:
                if self.get("/v1/tasks?limit=1")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.01)
        sys.exit(f"the service was not there after {within_s} s; see {self.directory}/serve.log")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(180)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def controller(self):
        """The controller's pid: a child of `virtbed serve`."""
        for pid in children(self.process.pid):
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read().strip().startswith("virtbed-control"):
                        return pid
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has just died
        return None

    def ask(self, method, path, body=None, timeout_s=60):
        client = Connection(self.socket)
        try:
            return client.call(method, path, body, timeout_s)
        finally:
            client.close()

    def get(self, path):
        return self.ask("GET", path)

    def submit(self, kind, count, **more):
        status, answer = self.ask("POST", "/v1/tasks", {"type": kind, "count": count, **more})
        if status != 201:
            sys.exit(f"submitting: {status} {answer}")
        return answer["tasks"]

    def metrics(self):
        status, text = self.get("/metrics")
        if status != 200:
            sys.exit(f"metrics: {status}")
        return read_metrics(text)

    def counts(self):
        values = self.metrics()
        return {state: int(values.get(f'virtbed_tasks{{state="{state}"}}', 0))
                for state in ("waiting", "planned", "starting", "running", "completed", "failed", "killed")}

    def wait_running(self, wanted, within_s):
        end = time.monotonic() + within_s
        while time.monotonic() < end:
            counts = self.counts()
            if counts["running"] >= wanted:
                return counts
            time.sleep(0.5)
        return self.counts()


def read_metrics(text):
    values = {}
    for line in text.splitlines():
        match = re.fullmatch(r"(\w+(?:\{[^}]*\})?) (\S+)", line)
        if match:
            values[match[1]] = float(match[2])
    return values


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def memory_mib(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        text = file.read()
    return {key: int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M)[1]) / 1024 for key in ("Rss", "Pss")}


class Connection:
    """One HTTP/1.1 connection, which the service ends after one answer."""

    def __init__(self, path, request=b""):
        self.socket = socket.socket(socket.AF_UNIX)
        self.buffer = b""
        try:
            self.socket.connect(path)
            self.socket.sendall(request)
        except OSError:
            self.socket.close()
            raise

    def close(self):
        self.socket.close()

    @staticmethod
    def request(method, path, body=None):
        data = json.dumps(body).encode() if body is not None else b""
        kind = "Content-Type: application/json\r\n" if body is not None else ""
        return (f"{method} {path} HTTP/1.1\r\nHost: x\r\n{kind}Content-Length: {len(data)}\r\n\r\n"
                ).encode() + data

    def take(self):
        """(status, body) of the answer that is there as a whole, or None."""
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return None
        lines = self.buffer[:head].split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")), None)
        if length is None:
            raise OSError("an answer without a length")
        if len(self.buffer) < head + 4 + length:
            return None
        body = self.buffer[head + 4:head + 4 + length]
        self.buffer = self.buffer[head + 4 + length:]
        return int(lines[0].split()[1]), body

    def call(self, method, path, body, timeout_s):
        self.socket.settimeout(timeout_s)
        self.socket.sendall(self.request(method, path, body))
        while True:
            answer = self.take()
            if answer:
                status, data = answer
                return status, (json.loads(data) if data.lstrip()[:1] in (b"{", b"[") else data.decode())
            data = self.socket.recv(1 << 20)
            if not data:
                raise OSError("closed by the service")
            self.buffer += data


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else None


def drive(path, next_request, rate, connections, seconds, on_answer):
    """
    Sends requests for so long, so many at once at most: `rate` a second whether or not the answers come
    (None: as fast as they come). Latencies count from the moment a request was due, so that waiting for
    one's turn is part of them. Returns (latencies in s, errors, s).
    """
    selector = selectors.DefaultSelector()
    due = collections.deque()
    latencies = []
    errors = made = busy = 0
    began = now = time.monotonic()
    while now < began + seconds or busy > 0 or due:
        if now < began + seconds:
            wanted = int((now - began) * rate) + 1 if rate else made + connections - busy
            while made < wanted:
                due.append((began + made / rate if rate else now, next_request(made)))
                made += 1
        elif now > began + seconds + 60:
            errors += busy + len(due)
            break
        while due and busy < connections:
            due_at, about = due.popleft()
            try:
                connection = Connection(path, Connection.request(*about))
            except OSError:  # no daemon listens at the moment, or it has just died
                errors += 1
                time.sleep(0.001)
                continue
            connection.due, connection.about = due_at, about
            connection.socket.setblocking(False)
            selector.register(connection.socket, selectors.EVENT_READ, connection)
            busy += 1
        wait = max(0, began + made / rate - time.monotonic()) if rate and now < began + seconds else 0.05
        for key, _ in selector.select(wait):
            connection = key.data
            try:
                data = connection.socket.recv(1 << 20)
            except BlockingIOError:
                continue
            except OSError:
                data = b""
            connection.buffer += data
            answer = connection.take()
            if data and not answer:
                continue
            if answer:
                latencies.append(time.monotonic() - connection.due)
            if not answer or not on_answer(connection.about, *answer, latencies[-1]):
                errors += 1
            selector.unregister(connection.socket)
            connection.close()
            busy -= 1
        now = time.monotonic()
    for key in list(selector.get_map().values()):
        key.data.close()
    return latencies, errors, time.monotonic() - began


def ms(seconds):
    return None if seconds is None else round(seconds * 1e3, 2)


def store_mib(state):
    return round(sum(os.path.getsize(os.path.join(state, name)) for name in os.listdir(state)
                     if name.startswith("run.sqlite")) / 2 ** 20, 1)


class Told(dict):
    """A result that is said as soon as it is there."""

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        print(f"{key}: {json.dumps(value)}", file=sys.stderr, flush=True)


def kill_and_wait(service):
    """kill -9 of the controller, and the time until the tasks can be asked for again."""
    pid = service.controller()
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    while service.controller() in (None, pid):
        time.sleep(0.005)
    started = time.monotonic()
    answering = None
    while answering is None:
        try:
            if service.get("/v1/status")[0] == 200:
                answering = time.monotonic()
        except OSError:
            time.sleep(0.005)
    service.wait_serving(300)
    served = time.monotonic()
    return {"answers_after_s": round(answering - started, 2),
            "tasks_answer_after_s": round(served - started, 2), "from_kill_s": round(served - began, 2)}
