#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a controller all that its own OpenAPI document says can be read, and holds the answers against it.

usage: check-api.py ADDRESS NAME=VALUE...
       check-api.py --answers DOCUMENT FILE

The second form holds answers against the document that were noted before: for each a line with the method, the path,
the status, the length of the body and the media type, then the body and a line end.

It shows the token that it finds in the file $VIRTBED_TOKEN_FILE, if that is set.

NAME=VALUE stand for the parameters in paths, e.g. task=0. Every answer must have a documented status, a
documented media type, and a body that its schema allows: a key that the schema does not have is none, unless
it says that there may be any (additionalProperties). Without parameters the status must be 200, or 409
where that is documented: an experiment does not have all that a service has.
"""
import json
import os
import re
import sys
import urllib.error
import urllib.request

import jsonschema


def headers():
    path = os.environ.get("VIRTBED_TOKEN_FILE")
    return {"Authorization": "Bearer " + open(path).read().strip()} if path else {}


def fetch(url):
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers()), timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers.get_content_type(), answer.read()


def plain(schema):
    """The same in JSON Schema, which has a type null where OpenAPI 3.0 has nullable, and without keys that it does not name."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    same = {key: plain(value) for key, value in schema.items() if key != "nullable"}
    if same.get("type") == "object":
        same.setdefault("additionalProperties", False)
    if schema.get("nullable") is True:
        same["type"] = [schema["type"], "null"]
        if "enum" in same:
            same["enum"] = same["enum"] + [None]
    return same


def check(document, address, path, operation, values):
    filled = re.sub(r"{(\w+)}", lambda match: values[match.group(1)], path)
    status, kind, body = fetch(address + filled)
    if filled == path and str(status) in operation["responses"] and status not in (200, 409):
        return status, "status %d: %s" % (status, body[:200])
    return judge(document, operation, status, kind, body)


def judge(document, operation, status, kind, body):
    described = operation["responses"].get(str(status))
    if described and "$ref" in described:
        described = document["components"]["responses"][described["$ref"].rsplit("/", 1)[1]]
    if described is None:
        return status, "status %d is not documented: %s" % (status, body[:200])
    if "content" not in described:
        return status, "a body is not documented for status %d" % status if body else None
    content = described["content"].get(kind)
    if content is None:
        return status, "%s is not documented for status %d" % (kind, status)
    if kind == "application/json":
        schema = dict(plain(content["schema"]), components=plain(document["components"]))
        try:
            jsonschema.Draft7Validator(schema).validate(json.loads(body))
        except (jsonschema.ValidationError, ValueError) as error:
            return status, str(error)
    return status, None


def noted(file):
    """The answers in a file, each once."""
    seen = set()
    while line := file.readline():
        method, path, status, length, *kind = line.decode().rstrip("\n").split(" ", 4)
        body = file.read(int(length))
        file.readline()
        answer = method.lower(), path.partition("?")[0], int(status), "".join(kind).partition(";")[0].strip(), body
        if answer not in seen:
            seen.add(answer)
            yield answer


def check_answers(document, file):
    """Every answer is that of an operation of the document. Whatever that does not have has to be refused."""
    patterns = {path: re.compile(re.sub(r"{\w+}", "[^/]+", path)) for path in document["paths"]}
    count = wrong = 0
    for method, path, status, kind, body in noted(file):
        operations = [item[method] for pattern, item in ((patterns[known], document["paths"][known]) for known in patterns)
                      if pattern.fullmatch(path) and method in item]
        complaint = None
        if operations:
            complaint = judge(document, operations[0], status, kind, body)[1]
        elif status not in (0, 404, 405):
            complaint = "status %d of what is not documented" % status
        count += 1
        wrong += complaint is not None
        if complaint:
            print("not ok %s %s: status %d: %s" % (method.upper(), path, status, complaint))
    print("%d answers, %d of them other than documented" % (count, wrong))
    return 1 if wrong or not count else 0


def main(address, *given):
    if address == "--answers":
        with open(given[0]) as document, open(given[1], "rb") as answers:
            return check_answers(json.load(document), answers)
    values = dict(text.split("=", 1) for text in given)
    document = json.loads(fetch(address + "/openapi.json")[2])
    wrong = 0
    for path, item in sorted(document["paths"].items()):
        if "get" in item:
            status, complaint = check(document, address, path, item["get"], values)
            print("%s %s: %s" % ("not ok" if complaint else "ok", path, complaint or status))
            wrong += complaint is not None
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
