# SPDX-License-Identifier: LGPL-2.1-or-later

"""The journal's native protocol: one datagram, or one sealed memory file, holds one record."""

import array
import os
import socket


def parse(data):
    """A record as a dict of text; a field that comes more than once keeps its last value."""
    record = {}
    position = 0
    while position < len(data):
        end = data.index(b"\n", position)
        line = data[position:end]
        position = end + 1
        if not line:
            continue
        key, equals, value = line.partition(b"=")
        if not equals:
            length = int.from_bytes(data[position:position + 8], "little")
            value = data[position + 8:position + 8 + length]
            position += 8 + length + 1
        record[key.decode()] = value.decode(errors="backslashreplace")
    return record


def receive(sock):
    """Take one record from a journal socket. Large ones come as a file descriptor."""
    data, ancillary, _, _ = sock.recvmsg(1 << 18, socket.CMSG_SPACE(64))
    for level, kind, content in ancillary:
        if (level, kind) != (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            continue
        descriptors = array.array("i")
        descriptors.frombytes(content[:len(content) - len(content) % descriptors.itemsize])
        for fd in descriptors:
            with os.fdopen(fd, "rb") as f:
                f.seek(0)
                data = f.read()
    return parse(data)
