#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries out a page of docs/first-day in the present folder, block by block, as its reader would.

usage: first-day.py PAGE [--long]

A page has two kinds of fenced blocks. ```LANGUAGE FILE is the contents of FILE, in the folder
that the commands before it have gone to. ```console is a session: `$ ` begins a command, the
lines below it are what it prints. All commands of a page run in one shell, must succeed, and must
print what the page says: numbers of more than one digit, paths, names of users and widths of
columns may differ, and a line `...` stands for any number of lines. A command that only asks is
repeated until it prints that, since a reader takes seconds from one command to the next.

Words behind `console`: `varies`, where what is printed differs from time to time and is not
compared; `vms`, for what starts VMs as root, which is not carried out here; `long`, for more than a minute: without --long the page ends there; `aside`, for as
much, where nothing below needs it: without --long it is left out.
Exit status 0: the page holds; 1: it does not, or the usage is bad.
"""
import getpass
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

ASKS = re.compile(r"virtbed (queue|show|explain|clusters|nodes|top|energy|output) |cat |grep ")
COMMAND_MAX_S = 600
ASKS_MAX_S = 60


class Shell:
    """One shell for all commands of a page, with its jobs."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.status = os.path.join(self.dir.name, "status")
        os.mkfifo(self.status)
        # In a session of its own, so that what a page leaves running is found.
        self.process = subprocess.Popen(["bash", "--norc"], stdin=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.write("set -m\n")

    def write(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def run(self, command):
        """The exit status of a command, and what it printed."""
        script = os.path.join(self.dir.name, "command")
        output = os.path.join(self.dir.name, "output")
        with open(script, "w") as file:
            file.write(command + "\n")
        self.write(f'. {script} >{output} 2>&1 </dev/null\necho "$? $PWD" >{self.status}\n')
        signal.alarm(COMMAND_MAX_S)
        with open(self.status) as file:
            status, self.folder = file.read().rstrip("\n").split(" ", 1)
        signal.alarm(0)
        with open(output) as file:
            return int(status), file.read().splitlines()

    def end(self):
        """Ends what is left: a service is asked first, and given a minute."""
        for number, wait_s in ((signal.SIGTERM, 60), (signal.SIGKILL, 10)):
            until = time.monotonic() + wait_s
            for process in self.left():
                os.kill(process, number)
            while self.left() and time.monotonic() < until:
                time.sleep(0.2)
        self.process.kill()
        self.process.wait()

    def left(self):
        """Processes of the shell's session other than itself."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == self.process.pid != int(name) and fields[0] != "Z":
                found.append(int(name))
        return found


def blocks(page):
    """The fenced blocks: number of the first line, the words behind the fence, lines."""
    begin = None
    with open(page) as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line.startswith("```") and begin is None:
                begin, words, lines = number, line[3:].split(), []
            elif line == "```":
                yield begin, words, lines
                begin = None
            elif begin is not None:
                lines.append(line)
            elif line.startswith("    ") or line.startswith("\t"):
                sys.exit(f"{page}:{number}: commands and files stand in fenced blocks")
    if begin is not None:
        sys.exit(f"{page}:{begin}: the block has no end")


def commands(lines):
    """The commands of a session, each with the lines that it prints."""
    found = []
    for line in lines:
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def plain(line):
    """A line without what may differ from one session to the next."""
    line = re.sub(r"\+[0-9a-f]{12}(\.dirty)?\b", "", line)
    line = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "root", line)
    line = re.sub(r"\b[0-9a-f]{8}\b|\b\d[\d.:]*[.:]\d+(?=s?\b)|\d{2,}", "#", line)
    line = re.sub(r"/[^ :']*/", "", line)
    return re.sub(r"-{3,}", "---", " ".join(line.split()))


def same(expected, printed):
    """Whether the lines of a page are what was printed."""
    pattern = "".join(r"(.*\n)*?" if line == "..." else re.escape(plain(line)) + r"\n"
                      for line in expected)
    return re.fullmatch(pattern, "".join(plain(line) + "\n" for line in printed)) is not None


def carry_out(shell, command, expected):
    """What the command printed last, and what is wrong with it, or None."""
    until = time.monotonic() + ASKS_MAX_S
    while True:
        status, printed = shell.run(command)
        if status == 0 and (expected is None or same(expected, printed)):
            return printed, None
        if not ASKS.match(command + " ") or time.monotonic() > until:
            break
        time.sleep(0.5)
    return printed, f"exit status {status}" if status else "it printed something else"


def main():
    arguments = [word for word in sys.argv[1:] if word != "--long"]
    if len(arguments) != 1:
        sys.exit(__doc__.split("\n\n")[1])
    page = os.path.relpath(arguments[0])
    shell = Shell()
    shell.run("true")
    try:
        for number, words, lines in blocks(arguments[0]):
            if words[:1] != ["console"]:
                if len(words) != 2:
                    sys.exit(f"{page}:{number}: a block is ```console or ```LANGUAGE FILE")
                with open(os.path.join(shell.folder, words[1]), "w") as file:
                    file.write("\n".join(lines) + "\n")
                continue
            if "long" in words and "--long" not in sys.argv:
                print(f"{page}:{number}: what follows is for --long")
                return 0
            if "vms" in words:
                print(f"{page}:{number}: left out, for VMs")
                continue
            if "aside" in words and "--long" not in sys.argv:
                print(f"{page}:{number}: left out, for --long")
                continue
            for command, expected in commands(lines):
                began = time.monotonic()
                printed, wrong = carry_out(shell, command, None if "varies" in words else expected)
                print(f"$ {command}", *printed, f"[{time.monotonic() - began:.1f} s]", sep="\n")
                if wrong:
                    print(f"{page}:{number}: {command}: {wrong}; the page:", *expected,
                          sep="\n")
                    return 1
        return 0
    finally:
        shell.end()


if __name__ == "__main__":
    sys.exit(main())
