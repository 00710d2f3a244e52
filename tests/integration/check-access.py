#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a controller for all that its OpenAPI document names, as all users without the right, and as users with it.

usage: check-access.py ADDRESS DOCUMENT ASKER=FILE... NAME=VALUE...

ASKER=FILE: a file with a token. viewer, user, other (another user) and operator are good ones; all others must be of no
use. NAME=VALUE stand for the parameters in paths, e.g. task=0, which is user's and has a name. What is not good must be answered with
the same 401, whatever is asked for; a role that is not enough with the same 403. What has {task} in its path must be
answered to the other user with the same 403, whatever comes with it, and whether there is such a task or not. An operation
of the document without a role fails the test, and so does a difference between the document and the
controller.
"""
import json
import os
import re
import select
import socket
import ssl
import sys
import urllib.error
import urllib.parse
import urllib.request

RANKS = ["anybody", "viewer", "user", "operator"]
UNKNOWN = b'{"error":"give a token that is good"}'
NOT_ENOUGH = b'{"error":"that is not for you to do"}'
NOT_YOURS = '{"error":"you have no task \'%s\'; `virtbed queue` tells whose tasks are whose"}'
# Numbers that no task has, and texts that are no number.
NO_TASKS = ["99999", "4294967296", "-1", "x"]
# What would end the service that is asked.
NEVER = {("post", "/v1/stop")}
# A kind of notice that tells of a task in words.
NOTICE = "task-refused"


class Controller:
    def __init__(self, address):
        self.address = address
        self.context = ssl.create_default_context(cafile=os.environ.get("VIRTBED_CA_FILE")) \
            if address.startswith("https") else None

    def ask(self, method, path, token=None, body=None, scheme="Bearer"):
        headers = {} if token is None else {"Authorization": "%s %s" % (scheme, token)}
        if body is None and method == "post":
            body = b"{}"
        request = urllib.request.Request(self.address + path, data=body, method=method.upper(), headers=headers)
        try:
            answer = urllib.request.urlopen(request, timeout=60, context=self.context)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            return answer.status, answer.headers, answer.read()

    def converse(self, request):
        """Sends what urllib would not, until hung up. Returns how many bytes were taken, and all that came back."""
        url = urllib.parse.urlsplit(self.address)
        connection = socket.create_connection((url.hostname, url.port), timeout=60)
        with self.context.wrap_socket(connection, server_hostname=url.hostname) if self.context else connection as stream:
            stream.setblocking(False)
            answer = b""
            sent = 0
            while True:
                got = attempt(stream.recv, 65536)
                sent += attempt(stream.send, request[sent:sent + 65536]) or 0
                answer += got or b""
                if got == b"":
                    return sent, answer
                if got is None and not any(select.select([stream], [stream] if sent < len(request) else [], [], 60)):
                    raise TimeoutError("neither answered nor hung up")


def attempt(operation, argument):
    """Of a stream that does not block; None if it would. A stream that is broken is at its end."""
    try:
        return operation(argument)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return None
    except OSError:
        return b"" if operation.__name__ == "recv" else 0


class Check:
    def __init__(self):
        self.wrong = self.done = 0

    def __call__(self, good, what, *details):
        self.done += 1
        if not good:
            self.wrong += 1
            print("not ok %s: %s" % (what, details))


def is_unknown(answer):
    status, headers, body = answer
    return status == 401 and body == UNKNOWN and headers["WWW-Authenticate"] == 'Bearer realm="virtbed"' \
        and not headers["Allow"] and headers["Cache-Control"] == "no-store"


def operations(document):
    for path, item in sorted(document["paths"].items()):
        for method, operation in sorted(item.items()):
            yield method, path, operation


def check_document(document, check):
    scheme = document["components"].get("securitySchemes", {}).get("token", {})
    check(scheme.get("type") == "http" and scheme.get("scheme") == "bearer", "securitySchemes", scheme)
    for method, path, operation in operations(document):
        role = operation.get("x-role")
        wanted = [] if role == "anybody" else [{"token": []}]
        check(role in RANKS and operation.get("security") == wanted, "%s %s declares its role" % (method, path), role)
        check("429" in operation["responses"], "%s %s documents 429" % (method, path))
        check(role == "anybody" or {"401", "403"} <= set(operation["responses"]), "%s %s documents 401, 403" % (method, path))


def check_strangers(controller, method, filled, what, useless, check):
    check(is_unknown(controller.ask(method, filled)), what + " without a token")
    check(is_unknown(controller.ask(method, filled, body=b"{" if method == "post" else None)), what + " with rubbish")
    check(is_unknown(controller.ask(method, filled + "?after=x&limit=-1")), what + " with a query")
    for name, token in useless.items():
        answer = controller.ask(method, filled, token)
        check(is_unknown(answer), "%s with a token that is %s" % (what, name), answer)


def check_roles(controller, method, path, filled, role, tokens, check):
    what = "%s %s" % (method, path)
    for asker, rank in (("viewer", "viewer"), ("other", "user"), ("user", "user"), ("operator", "operator")):
        allowed = RANKS.index(rank) >= RANKS.index(role)
        owned = "{task}" in path
        if allowed and (method, path) in NEVER:
            continue
        status, headers, body = controller.ask(method, filled, tokens[asker])
        # An answer with a tag may be kept by the client, which asks each time whether it is still so.
        kept = "private, no-cache" if headers["ETag"] else "no-store"
        check(headers["Cache-Control"] == kept, "%s as %s is not to be kept" % (what, asker), headers["Cache-Control"])
        if not allowed:
            check((status, body) == (403, NOT_ENOUGH), "%s as %s" % (what, asker), status, body)
        elif owned and asker == "other":
            check(status == 403 and re.fullmatch(NOT_YOURS % "\\d+", body.decode()), "%s of another user" % what, status, body)
        else:
            check(status not in (401, 403), "%s as %s" % (what, asker), status, body)


def check_tasks(controller, method, path, values, tokens, check):
    """A user learns nothing of another's task, nor of which numbers there are; others are told that there is none."""
    for task in [values["task"]] + NO_TASKS:
        not_yours = (NOT_YOURS % task).encode()
        filled = re.sub(r"{(\w+)}", lambda match: dict(values, task=task)[match.group(1)], path)
        for query in ("", "?from=x&wait_s=-1"):
            for body in (b"{", b'{"to": []}') if method == "post" else (None,):
                status, headers, answer = controller.ask(method, filled + query, tokens["other"], body=body)
                check((status, answer) == (403, not_yours) and not headers["ETag"],
                      "%s %s of another user, with %s" % (method, filled + query, body), status, answer)
        if task != values["task"]:
            check(controller.ask(method, filled, tokens["user"])[2] == not_yours, "%s %s, to a user" % (method, filled))
            check(controller.ask(method, filled, tokens["operator"])[0] == 404, "%s %s, to an operator" % (method, filled))


def check_lists(controller, values, tokens, check):
    """Others see that there is a task, and whose, and nothing that is its owner's to know, or may be in a notice."""
    status, _, _ = controller.ask("post", "/v1/notices", tokens["operator"],
                                  json.dumps({"kind": NOTICE, "text": "task 0 is not started: its name"}).encode())
    check(status == 201, "a notice", status)
    for asker in ("viewer", "other", "user", "operator"):
        told = asker != "other"
        tasks = json.loads(controller.ask("get", "/v1/tasks", tokens[asker])[2])["tasks"]
        task = next(one for one in tasks if one["task"] == int(values["task"]))
        check(task["user"] and (task["name"] is not None) == told, "the name of a task, to " + asker, task)
        events = json.loads(controller.ask("get", "/v1/events?after=0", tokens[asker])[2])["events"]
        event = next(one for one in events if one["kind"] == "submitted" and one["task"] == int(values["task"]))
        check(event["detail"]["user"] and ("name" in event["detail"]) == told, "that it was submitted, to " + asker, event)
        texts = {one["kind"] for one in events if (one["detail"] or {}).get("text")}
        notices = {one["kind"] for one in json.loads(controller.ask("get", "/v1/status", tokens[asker])[2])["notices"]}
        for kinds in (texts, notices):
            check("serving" in kinds and (NOTICE in kinds) == (asker in ("viewer", "operator")),
                  "what is not known to be harmless, to " + asker, kinds)


def check_what_is_not_there(controller, document, useless, check):
    """Nor do strangers learn which paths there are, or what they can do."""
    known = {(method, path) for method, path, _ in operations(document)}
    for path in sorted(document["paths"]) + ["/nowhere", "/v1", "//v1/status", "/v1/status/", "/v1/tasks/../status"]:
        for method in ("get", "put", "delete", "patch", "options"):
            if (method, path) not in known:
                check(is_unknown(controller.ask(method, re.sub("{.*?}", "0", path))), "%s %s is nothing" % (method, path))
    for name, token in useless.items():
        check(is_unknown(controller.ask("get", "/nowhere", token)), "nothing with a token that is " + name)


def check_targets(controller, check):
    """Nor does it matter what is asked for, and in which form its body comes: nothing of it is kept, or read for ever."""
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    small = [("Content-Length: 2", b"{}"),
             ("Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n"),
             ("Content-Length: 1000000000000\r\nExpect: 100-continue", b"")]
    large = [("Content-Length: %d" % (64 << 20), b" " * (64 << 20)),
             ("Transfer-Encoding: chunked", chunk * 64 + b"0\r\n\r\n")]
    for target in ("OPTIONS *", "GET *", "POST /../x", "POST /x%2f..%2fy", "POST /v1%00", "POST ftp://127.0.0.1/v1/tasks",
                   "POST /v1/tasks"):
        head = target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for headers, body in small:
            _, answer = controller.converse((head + headers + "\r\n\r\n").encode() + body)
            check(answer.startswith(b"HTTP/1.1 401 ") and answer.endswith(UNKNOWN), "%s with %s" % (target, headers), answer)
        for headers, body in large:
            sent, answer = controller.converse((head + headers + "\r\n\r\n").encode() + body)
            check(sent < 32 << 20, "%s with more than is read, %s" % (target, headers), sent, answer[:200])
            check(answer.startswith(b"HTTP/1.1 401 ") and answer.endswith(UNKNOWN),
                  "%s with more than is read, %s, is answered" % (target, headers), answer[:200])


def main(address, document_path, *given):
    values = dict(text.split("=", 1) for text in given)
    tokens = {name: open(values.pop(name)).read().strip() for name in list(values) if os.path.isfile(values[name])}
    with open(document_path) as file:
        document = json.load(file)
    useless = {name: token for name, token in tokens.items() if name not in ("viewer", "user", "other", "operator")}
    useless.update({"empty": "", "cut": tokens["operator"][:-1], "long": tokens["operator"] + "A", "a guess": "vbt_" + 43 * "A"})
    controller = Controller(address)
    check = Check()
    check_document(document, check)
    for method, path, operation in operations(document):
        filled = re.sub(r"{(\w+)}", lambda match: values[match.group(1)], path)
        role = operation.get("x-role")
        if role == "anybody":
            status, headers, _ = controller.ask(method, filled)
            check((status, headers["Cache-Control"]) == (200, "no-cache"), "%s %s for anybody" % (method, path), status)
        elif role in RANKS:
            check_strangers(controller, method, filled, "%s %s" % (method, path), useless, check)
            check_roles(controller, method, path, filled, role, tokens, check)
        if "{task}" in path:
            check_tasks(controller, method, path, values, tokens, check)
    check_lists(controller, values, tokens, check)
    check(is_unknown(controller.ask("get", "/v1/status", tokens["operator"], scheme="Basic")), "another scheme")
    check(is_unknown(controller.ask("post", "/v1/tasks", body=b" " * (8 << 20))), "a large body, and no Expect")
    check_what_is_not_there(controller, document, useless, check)
    check_targets(controller, check)
    print("%d of %d as they should be" % (check.done - check.wrong, check.done))
    return 1 if check.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
