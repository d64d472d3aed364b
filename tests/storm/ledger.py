# SPDX-License-Identifier: MIT
"""Creates and reads ledgers. ledger.h defines their layout."""
import struct

FUNCTIONS, LAYERS, EVENTS, MESSAGES, MESSAGE = 832, 17, 96, 32, 240
COLUMNS = ("takes", "seen", "down", "top", "mark", "low", "high")
HEAD = 6 * 8 + MESSAGES * MESSAGE + EVENTS * 8
LAYER = 2 * 8 + len(COLUMNS) * FUNCTIONS * 8
SIZE = HEAD + 3 * FUNCTIONS * 8 + LAYERS * LAYER
ON = 1


def make(path):
    """Creates an empty ledger, in which all layers are on."""
    with open(path, "wb") as file:
        file.truncate(SIZE)
        for layer in range(LAYERS):
            file.seek(layer_offset(layer) + 8)
            file.write(struct.pack("Q", ON))


def layer_offset(layer):
    return HEAD + 3 * FUNCTIONS * 8 + layer * LAYER


class Ledger:
    def __init__(self, path):
        self.data = memoryview(path.read_bytes())
        _, self.steps, self.ended, self.jumps, _, count = struct.unpack_from("6Q", self.data)
        self.messages = [self._message(i) for i in range(min(count, MESSAGES))]
        self.message_count = count
        self.events = self._counts(HEAD - EVENTS * 8, EVENTS)
        self.program = self._counts(HEAD)
        self.slack = self._counts(HEAD + FUNCTIONS * 8)
        self.untold = self._counts(HEAD + 2 * FUNCTIONS * 8)

    def _counts(self, offset, number=FUNCTIONS):
        return self.data[offset:offset + number * 8].cast("Q")

    def _message(self, number):
        offset = 6 * 8 + number * MESSAGE
        return bytes(self.data[offset:offset + MESSAGE]).split(b"\0")[0].decode(errors="replace")

    def inits(self, layer):
        return struct.unpack_from("Q", self.data, layer_offset(layer))[0]

    def state(self, layer):
        return struct.unpack_from("Q", self.data, layer_offset(layer) + 8)[0]

    def column(self, layer, name):
        offset = layer_offset(layer) + 16 + COLUMNS.index(name) * FUNCTIONS * 8
        return self._counts(offset)
