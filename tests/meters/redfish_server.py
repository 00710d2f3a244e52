#!/usr/bin/python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Redfish service that answers what a file says, over HTTPS on a free port of 127.0.0.1.

usage: redfish_server.py DIR CERTIFICATE KEY

DIR/redfish.json maps a path to its answer, or to a list of answers in turn, of which the last repeats. "POST PATH" and
"DELETE PATH" are answers to other methods. An answer has: status (200), headers, one of json, text and base64; gzip (true: the
body is compressed), times (N: it is repeated), endless (true: for ever), authorization (401 to a request that has another),
needs_encoding (406 where gzip is not accepted), encoding (deflate, raw-deflate or x-gzip: the body is compressed so), chunked (true:
the body comes in chunks of 7 bytes), delay_s, cut (true: the connection ends before the body does). "*delay_s*" is the
delay of all other answers, also to unknown paths. "*slash*" is the answer to each path without a slash at its end, with that
redirect. "*session*" is {"uses": N, "cut": BOOL}: a token is good for N requests, then they are answered with 401.

It prints its port, then each request as a line "METHOD PATH SECONDS".
"""
import base64
import gzip
import http.server
import json
import os
import ssl
import sys
import threading
import time
import zlib


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def find(self):
        tree, turn = self.server.tree, self.server.turn
        path = self.path if self.path in tree else self.path.rstrip("/")
        answer = tree.get(f"{self.command} {path}")
        if answer is None and "*slash*" in tree and not self.path.endswith("/"):
            answer = dict(tree["*slash*"], headers={"Location": self.path + "/"})
        session = tree.get("*session*")
        if session and self.command == "POST":
            turn["*uses*"] = 0
        if session and self.command == "GET":
            turn["*uses*"] = turn.get("*uses*", 0) + 1
            if turn["*uses*"] > session["uses"]:
                answer = {"status": 401, "cut": session.get("cut", False), "json": {"error": {"message": "no such session"}}}
        if answer is None and self.command == "GET":
            answer = tree.get(path)
        if answer is None:
            answer = {"status": 404, "json": {"error": {"message": "no such resource"}}}
        if isinstance(answer, list):
            number = turn.get(path, 0)
            turn[path] = number + 1
            answer = answer[min(number, len(answer) - 1)]
        if "authorization" in answer and self.headers.get("Authorization") != answer["authorization"]:
            answer = {"status": 401, "text": "no such token"}
        if "needs_encoding" in answer and "gzip" not in (self.headers.get("Accept-Encoding") or ""):
            answer = {"status": 406, "json": {"error": {"message": "Not Acceptable"}}}
        return answer

    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length:
            self.rfile.read(length)
        with self.server.lock:
            print(self.command, self.path, f"{time.monotonic():.3f}", flush=True)
            answer = self.find()
        time.sleep(answer.get("delay_s", self.server.tree.get("*delay_s*", 0)))
        body = json.dumps(answer["json"]).encode() if "json" in answer else answer.get("text", "").encode()
        if "base64" in answer:
            body = base64.b64decode(answer["base64"])
        body *= answer.get("times", 1)
        headers = dict(answer.get("headers", {}))
        if answer.get("gzip") or "needs_encoding" in answer:
            body = gzip.compress(body)
            headers["Content-Encoding"] = "gzip"
        if "encoding" in answer:
            wbits = {"deflate": 15, "raw-deflate": -15, "x-gzip": 31}[answer["encoding"]]
            packer = zlib.compressobj(wbits=wbits)
            body = packer.compress(body) + packer.flush()
            headers["Content-Encoding"] = answer["encoding"].replace("raw-", "")
        self.send_response(answer.get("status", 200))
        for name, value in headers.items():
            self.send_header(name, value)
        if answer.get("cut"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.close_connection = True
            return
        if answer.get("endless"):
            self.end_headers()
        while answer.get("endless"):
            self.wfile.write(body)
        self.send_header("Content-Type", "application/json")
        if answer.get("chunked"):
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            pieces = [body[i:i + 7] for i in range(0, len(body), 7)]
            self.wfile.write(b"".join(b"%x;x=1\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n")
            return
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def main(directory, certificate, key):
    server = Server(("127.0.0.1", 0), Handler)
    with open(os.path.join(directory, "redfish.json"), encoding="utf-8") as file:
        server.tree = json.load(file)
    server.turn, server.lock = {}, threading.Lock()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
