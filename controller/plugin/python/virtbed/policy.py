# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a policy as a program: `virtbed ... --policy exec:./my_policy.py` starts it, and asks it at
every mapping event (docs/reference/policy-protocol.md).

What the policy prints goes to standard error, since virtbed reads its answers from standard output;
its standard input is empty. An exception in decide() is an answer too: virtbed shows its text, and
the traceback is on standard error.
"""
import json
import os
import sys
import time
import traceback
from math import isfinite

from virtbed.snapshot import Snapshot, System, Task

PROTOCOL = 1
MESSAGE_MAX = 64 << 20  # bytes of a line with its end


class Policy:
    """A policy; a subclass has decide(). `name` is what it calls itself in logs, `models` the
    models in which it decides (see virtbed.snapshot.System), such as ("nodes",); None: all."""
    name = None
    models = None

    def begin(self, system, seed):
        """Called once before the first event, with the System. An exception refuses to decide."""

    def decide(self, snapshot):
        """The plan for a mapping event (virtbed.snapshot.Snapshot): a list of actions
        (virtbed.actions), or a dict of `actions` and `note`, a text.
        It has to be a function of the snapshot alone: the same answer whenever that is asked."""
        raise NotImplementedError(f"{type(self).__name__} has no decide()")


class _Conversation:
    """What a process knows of the system and of tasks between the messages of virtbed."""

    def __init__(self, policy):
        self.policy = policy
        self.system = None
        self.tasks = {}

    def hello(self, message):
        """The answer to the first message."""
        policy = self.policy
        if message.get("protocol") != PROTOCOL:
            return _refuse(f"virtbed speaks protocol {message.get('protocol')}, and this module "
                           f"{PROTOCOL}")
        self.system = System(message["system"])
        self.tasks = {}
        answer = {"type": "hello", "protocol": PROTOCOL, "differences": True,
                  "name": policy.name or type(policy).__name__}
        if policy.models is not None:
            answer["models"] = list(policy.models)
            if message.get("model") not in policy.models:
                return answer  # by which virtbed refuses the policy, in its own words
        try:
            policy.begin(self.system, message.get("seed", 0))
        except Exception as error:
            return _refuse(_reason(error))
        return answer

    def snapshot(self, document):
        """The snapshot of a message, in which only new and changed tasks are described."""
        described = document["tasks"]
        for number in document.get("gone", ()):
            self.tasks.pop(number, None)
        if "system" in document:  # it has changed, and may lack types of tasks that have as well
            self.system = System(document["system"])
            for task in described:
                self.tasks.pop(task["id"], None)
            described = [task.document for task in self.tasks.values()] + described
        for task in described:
            self.tasks[task["id"]] = Task(task, self.system)
        return Snapshot(document, self.system, self.tasks)

    def decide(self, message):
        """The answer to a mapping event."""
        number = message["number"]
        try:
            snapshot = self.snapshot(message["snapshot"])
            begun_s = time.perf_counter()
            plan = self.policy.decide(snapshot)
            compute_s = time.perf_counter() - begun_s
            answer = dict(plan) if isinstance(plan, dict) else {"actions": plan}
            answer["actions"] = _listed(answer.get("actions"))
            answer.update(type="plan", number=number, compute_s=compute_s)
            return _line(answer)
        except Exception as error:
            return _line({"type": "error", "number": number, "reason": _reason(error)})


def _refuse(reason):
    return {"type": "refuse", "reason": reason}


def _reason(error):
    """An exception as one line, with the author's line that raised it; the traceback is printed."""
    traceback.print_exception(error)
    others = tuple(os.path.dirname(os.path.abspath(module.__file__)) + os.sep
                   for module in (sys.modules[__name__], os))
    own = [frame for frame in traceback.extract_tb(error.__traceback__)
           if not os.path.abspath(frame.filename).startswith(others)]
    where = f" ({os.path.basename(own[-1].filename)}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"[:1000]


def _listed(actions):
    """The actions as a list."""
    if actions is None or isinstance(actions, (str, bytes)):
        raise TypeError("decide() must return a list of actions, not "
                        f"{'nothing' if actions is None else 'a text'}")
    return list(actions)


def _plain(value):
    """Numbers and arrays of numpy and the like, which have these methods, as Python's own."""
    for convert in ("tolist", "item"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"{value!r} cannot be written as JSON")


def _finite(actions):
    """The actions, where a value of the objective may be infinite; others may not."""
    for index, action in enumerate(actions):
        for key, value in action.items():
            if isinstance(value, float) and not isfinite(value):
                if key != "objective":
                    raise ValueError(f"action {index}: \"{key}\" is {value}")
                action = {**action, key: None}
        yield action


def _line(answer):
    """A message as a line."""
    try:
        content = json.dumps(answer, separators=(",", ":"), allow_nan=False, default=_plain)
    except ValueError:
        answer["actions"] = list(_finite(answer["actions"]))
        content = json.dumps(answer, separators=(",", ":"), allow_nan=False, default=_plain)
    if len(content) >= MESSAGE_MAX:
        raise ValueError(f"the plan has {len(content) + 1} bytes, and virtbed reads no line of "
                         f"more than {MESSAGE_MAX}")
    return content.encode("ascii") + b"\n"


def _take_streams():
    """The pipes from and to virtbed. From then on what is printed, by any part of the process, goes
    to standard error, what waits in the buffer too; and standard input is empty."""
    source = os.fdopen(os.dup(0), "rb", buffering=1 << 20)
    sink = os.dup(1)
    os.dup2(2, 1)
    sys.stdout.flush()
    sys.stdout = sys.stderr
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return source, sink


def _write(sink, line):
    """Writes a line; False where virtbed reads no more."""
    rest = memoryview(line)
    try:
        while rest:
            rest = rest[os.write(sink, rest):]
    except BrokenPipeError:
        return False
    return True


def _converse(policy, source, sink):
    """Answers messages until the last one."""
    conversation = _Conversation(policy)
    while line := source.readline(MESSAGE_MAX + 1):
        message = json.loads(line)
        kind = message["type"]
        if kind == "bye":
            return
        if kind == "hello":
            answer = _line(conversation.hello(message))
        elif kind == "decide":
            answer = conversation.decide(message)
        else:
            continue  # of a later protocol
        if not _write(sink, answer):
            return


def run(policy):
    """Speaks the protocol for a policy until virtbed says good-bye. Call it last in a program."""
    if sys.stdin is None or sys.stdin.isatty():
        sys.exit(f"{sys.argv[0]} is a policy: virtbed asks it, as by\n"
                 f"    virtbed simulate CONFIG --policy exec:{sys.argv[0]}")
    try:
        _converse(policy, *_take_streams())
    except KeyboardInterrupt:
        pass
