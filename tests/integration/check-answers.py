#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Holds every command that talks to a service against peers that answer what no service does.

usage: check-answers.py VIRTBED DIRECTORY

Each command must end with status 1, say so in one line on standard error, and claim nothing on standard output. A
command of `virtbed --help` that is in none of the two tables below fails the test, so that a new one is not forgotten.
Exit status 0: all did. DIRECTORY is an empty one for files.
"""
import concurrent.futures
import json
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time

# Commands that talk to a service, and with what: {unix} and {tcp} are addresses of the peer, {dir} is a directory.
# VIRTBED_URI is the peer's TCP address. All ways to ask are held against all answers, the first alone against what has
# no end; other forms of the same questions against a few.
ASKS = {
    "submit": ["A"],
    "queue": ["", "5"],
    "show": ["5"],
    "output": ["5", "5 -f", "5 --files {dir}/files"],
    "explain": ["5"],
    "cancel": ["5"],
    "hold": ["5"],
    "release": ["5"],
    "suspend": ["5", ""],
    "resume": ["5"],
    "migrate": ["5 --to b1"],
    "clusters": [""],
    "nodes": ["", "--at {tcp}", "{dir}/config.yaml"],
    "drain": ["c/0 --reason x"],
    "undrain": ["c/0"],
    "energy": ["", "--live {dir}/config.yaml"],
    "token": ["create --uri {unix}"],
    "top": [""],
}
FORMS = {
    "submit": ["A --count 3 --json", "A --wait", "--script {dir}/script --time 1m --uri {unix}"],
    "queue": ["--json", "--state running --user x", "--uri {unix}"],
    "show": ["5 --json"],
    "output": ["5 --json"],
    "explain": ["5 --json"],
    "cancel": ["5-7", "5 6 --json"],
    "hold": ["5-7", "5 6 --json"],
    "release": ["5-7", "5 6 --json"],
    "suspend": ["5,6", "5 --wait 0", "5 --json"],
    "resume": ["", "5,6", "5 --wait 0", "5 --json"],
    "migrate": ["5,6 --to b1 --wait 0", "5 --to b1 --json"],
    "clusters": ["--json"],
    "nodes": ["--json", "--cluster c", "--at {unix} --json"],
    "drain": ["c/0-3 --reason x --json"],
    "undrain": ["c/0-3 --json"],
    "energy": ["--by policy", "--by day --json", "--live {dir}/config.yaml --json"],
    "token": ["list --uri {unix}", "revoke x --uri {unix}"],
    "top": ["--json", "--once"],
}
FEW = ["another document", "302 with a document", "null", "silence"]

# Commands that send no request, or only to their own controller and local schedulers: why.
OTHERS = {
    "run": "starts the controller, which asks local schedulers again (tests/unit/run)",
    "serve": "as run",
    "profile": "as run",
    "config": "check --live starts local schedulers, or asks one again until its --timeout",
    "lab": "its daemons have no such API",
    "simulate": "files alone", "replay": "files alone", "study": "files alone", "compare": "files alone",
    "report": "files alone", "decide": "files alone", "rerun": "files alone", "policies": "nothing", "policy": "files alone",
    "completion": "nothing",
}

# What a command may print where nothing came about, and what was printed with the meters' errors in it.
NOTHING = [{"tasks": []}, {"nodes": []}]
OTHER_DOCUMENT = b'{"database": "ok", "version": "9.5.2"}'
MEMORY_MAX_KIB = 600 << 10  # more than an answer that is just not too large and what is read of it


def answer(status, body=b"", content_type="application/json", more="", length=None):
    return ("HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n" % (
        status, content_type, len(body) if length is None else length, more)).encode() + body


ANSWERS = {
    "another document": answer("200 OK", OTHER_DOCUMENT),
    "another list": answer("200 OK", b"[" + OTHER_DOCUMENT + b"]"),
    "a page": answer("200 OK", b"<!DOCTYPE html>\n<title>Welcome</title>\n", "text/html"),
    "204": answer("204 No Content"),
    "301": answer("301 Moved Permanently", more="Location: http://127.0.0.1:9/\r\n"),
    "302 with a document": answer("302 Found", OTHER_DOCUMENT, more="Location: https://login.example/?next=/\r\n"),
    "308": answer("308 Permanent Redirect", more="Location: /other\r\n"),
    "404": answer("404 Not Found", b"<h1>Not\nFound</h1>", "text/html"),
    "404 of another service": answer("404 Not Found", b'{"message": "no route"}'),
    "500": answer("500 Internal Server Error"),
    "null": answer("200 OK", b"null"),
    "null, created": answer("201 Created", b"null"),
    "null, accepted": answer("202 Accepted", b"null"),
    "no body": answer("200 OK"),
    "no body, accepted": answer("202 Accepted"),
    "half a body": answer("200 OK", b'{"tasks": [', length=4000),
    "half a document": answer("200 OK", b'{"tasks": ['),
    "no end": answer("200 OK", b"[", length=1 << 40),
    "silence": b"",
    "hanging up": b"",
}
# How long the commands wait; where no answer comes that has an end, that passes.
TIMEOUT_S = {"silence": 0.2, "half a body": 0.2, "hanging up": 0.2}
ENOUGH_S = 60


class Peer:
    """Gives every request on its two addresses one answer."""

    def __init__(self, name, directory):
        self.name = name
        tcp = socket.create_server(("127.0.0.1", 0), backlog=100)
        path = self.place(directory) + ".sock"
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(path)
        unix.listen(100)
        self.tcp = "http://127.0.0.1:%d" % tcp.getsockname()[1]
        self.unix = "unix:" + path
        for listener in (tcp, unix):
            threading.Thread(target=self.listen, args=(listener,), daemon=True).start()

    def place(self, directory):
        """For files that commands read or write."""
        return os.path.join(directory, re.sub("[^a-z0-9]", "-", self.name))

    def listen(self, listener):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            try:
                while self.read_request(connection):
                    if not self.reply(connection):
                        break
            except OSError:
                pass

    @staticmethod
    def read_request(connection):
        """Its head and body; false where there is none any more."""
        got = b""
        while b"\r\n\r\n" not in got:
            more = connection.recv(65536)
            if not more:
                return False
            got += more
        head, _, body = got.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        while length and len(body) < int(length.group(1)):
            body += connection.recv(65536)
        return True

    def reply(self, connection):
        """Whether the connection stays open."""
        if self.name == "hanging up":
            return False
        if self.name == "silence":
            return connection.recv(1) != b""
        connection.sendall(ANSWERS[self.name])
        while self.name == "no end":
            connection.sendall(b" " * (1 << 20))
        return self.name != "half a body"


def trouble(command, words, output, errors, status):
    """What is wrong with how a command ended, or None."""
    lines = errors.decode().splitlines()
    if status != 1:
        return "status %d" % status
    if len(lines) != 1 or not lines[0].startswith("virtbed %s: " % command) or len(lines[0]) < 40:
        return "not one line that says what happened"
    if not output or ("--live" in words and b"error" in output) or "--live" in words and "--json" not in words:
        return None
    try:
        claims = json.loads(output) not in NOTHING
    except ValueError:
        claims = True
    return "something on standard output" if claims else None


def run(virtbed, directory, peer, command, words):
    """Runs a command against a peer; what went wrong, or None."""
    place = {"unix": peer.unix, "tcp": peer.tcp, "dir": peer.place(directory)}
    argv = [virtbed, command] + [word.format(**place) for word in words.split()]
    environment = dict(os.environ, VIRTBED_URI=peer.tcp, HOME=directory, XDG_CONFIG_HOME=directory,
                       XDG_STATE_HOME=directory, VIRTBED_TIMEOUT=str(TIMEOUT_S.get(peer.name, ENOUGH_S)))
    for name in ("VIRTBED_TOKEN_FILE", "VIRTBED_CA_FILE"):
        environment.pop(name, None)
    try:
        ended = subprocess.run(argv, env=environment, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                               timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "%s %s: %s: does not end" % (command, words, peer.name)
    why = trouble(command, words, ended.stdout, ended.stderr, ended.returncode)
    return why and "%s %s: %s: %s\n  stdout %s\n  stderr %s" % (command, words, peer.name, why, ended.stdout[:500],
                                                                ended.stderr[:500])


def write_files(directory, peer):
    """What commands read, in a directory of its own for each peer."""
    place = peer.place(directory)
    os.mkdir(place)
    with open(os.path.join(place, "script"), "w", encoding="utf-8") as script:
        script.write("#!/bin/sh\n")
    with open(os.path.join(place, "config.yaml"), "w", encoding="utf-8") as config:
        config.write("""name: answers
clusters: [{name: c, nodes: 1, cores: 1, memory_mib: 128, local_scheduler: "%s", hosts: [{name: b, uri: "qemu:///x"}]}]
types: [{name: A, benchmark: is, class: S, cores: 1, memory_mib: 96, share: 1}]
estimates: [{type: A, cluster: c, etc_s: 5, eec_j: 10}]
workload: {arrival_mean_s: 2, duration_s: 20, utility_max: [1]}
experiment: {policies: [easy], limits: [1], budget_j: 1000, mapping_interval_s: 1, duration_s: 60}
""" % peer.tcp)


def ways(command, peer):
    """The words of a command that are held against a peer."""
    if peer.name == "no end":
        return ASKS[command][:1]
    return ASKS[command] + (FORMS.get(command, []) if peer.name in FEW else [])


def main(virtbed, directory):
    usage = subprocess.run([virtbed, "--help"], capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"(?m)^  ([a-z]+) ", usage))
    wrong = ["%s: in none of the tables of check-answers.py" % name for name in known - set(ASKS) - set(OTHERS)]
    wrong += ["%s: no command any more" % name for name in (set(ASKS) | set(OTHERS)) - known]
    peers = [Peer(name, directory) for name in ANSWERS]
    for peer in peers:
        write_files(directory, peer)
    # Those that wait most first, as they wait side by side.
    peers.sort(key=lambda peer: TIMEOUT_S.get(peer.name, ENOUGH_S))
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        runs = [pool.submit(run, virtbed, directory, peer, command, words)
                for peer in peers for command in ASKS for words in ways(command, peer)]
        wrong += [why for why in (one.result() for one in runs) if why]
    memory_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if memory_kib > MEMORY_MAX_KIB:
        wrong.append("a command took %d MiB" % (memory_kib >> 10))
    print("\n".join(wrong))
    print("%d commands that were answered amiss, in %.1f s: %d wrong; at most %d MiB" % (
        len(runs), time.monotonic() - began, len(wrong), memory_kib >> 10))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1], sys.argv[2]))
