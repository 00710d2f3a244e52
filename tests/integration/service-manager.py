#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""service-manager.py SOCKET: a service manager's end of $NOTIFY_SOCKET; prints every word of a datagram as a line."""
import socket
import sys

listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.bind(sys.argv[1])
while True:
    print(listening.recv(65536).decode(), flush=True)
