# SPDX-License-Identifier: LGPL-2.1-or-later

"""Device events as udevd sends them, to whoever listens under an umockdev tree."""

import glob
import os
import socket
import struct

MAGIC = 0xfeedcafe
MASK = 0xffffffff


def murmur2(data, seed=0):
    """The hash that libudev's socket filters look for (MurmurHash2, 32 bit)."""
    factor = 0x5bd1e995
    h = seed ^ len(data)
    whole = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * factor & MASK
        word ^= word >> 24
        h = (h * factor ^ word * factor) & MASK
    if len(data) > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * factor & MASK
    h = (h ^ h >> 13) * factor & MASK
    return h ^ h >> 15


class Sender:
    def __init__(self, root):
        self.root = root
        self.seqnum = 1000

    def send(self, action, devpath, subsystem, **properties):
        """The device need not be there: udevd, too, tells of those that are gone again."""
        self.deliver(self.message(action, devpath, subsystem, **properties))

    def message(self, action, devpath, subsystem, **properties):
        self.seqnum += 1
        fields = {"ACTION": action, "DEVPATH": devpath, "SUBSYSTEM": subsystem, "SEQNUM": self.seqnum, **properties}
        body = b"".join(f"{k}={v}".encode() + b"\0" for k, v in fields.items())
        header = b"libudev\0" + struct.pack("!I", MAGIC) + struct.pack("=III", 40, 40, len(body)) \
            + struct.pack("!IIII", murmur2(subsystem.encode()), 0, 0, 0)
        return header + body

    def deliver(self, message):
        for path in glob.glob(self.root + "/event[0-9]*"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
                try:
                    s.connect(path)
                    s.send(message)
                except ConnectionRefusedError:
                    os.unlink(path)
