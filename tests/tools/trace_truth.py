# SPDX-License-Identifier: MIT
"""Compares a trace with the calls that the traced program itself wrote down. The programs of tests/observe/programs
write a line for each call, with its communicator, transfers, bytes, root and requests (see expect.h there). The
values do not depend on qmpi: they are constants in the source, addresses and handles of the program, or results of PMPI
calls."""
from fnmatch import fnmatchcase

from otf2_events import members_of

BEGINS = ("isend", "irecv_request", "icollective_request", "io_request", "rma_put", "rma_get", "rma_atomic")
ENDS = ("isend_complete", "irecv", "icollective_complete", "io", "rma_complete", "request_cancelled")
SENDS, RECEIVES = ("send", "isend"), ("recv", "irecv_request")
WORDS = {-1: "any", -2: "null"}
ROOTS = {"-2": "null", "-3": "root"}


def lines_of(path):
    """Returns {field: value} of each call of the program; `started` and `completed` are lists of requests."""
    found = []
    for line in path.read_text().splitlines():
        function, *words = line.split()
        fields = {"function": function, "started": [], "completed": []}
        for name, _, value in (word.partition("=") for word in words):
            fields[name] = fields[name] + value.split(",") if name in ("started", "completed") else value
        found.append(fields)
    return found


def calls_of(process):
    """Returns (function, events) of each call of each thread, in the order of their ends, as programs write them."""
    found = []
    for events in process.events.values():
        stack = []
        for event in events:
            if event["kind"] == "enter":
                stack.append((event["function"], []))
            elif event["kind"] in ("leave", "interrupted"):
                found.append(stack.pop())
            elif stack:
                stack[-1][1].append(event)
    return found


def transfers_of(process, events):
    """Returns transfers in the form that the program writes: >peer/world/tag/bytes for a message that is sent, and the
    same with < for one that is received. The bytes of the latter are those received or, for a nonblocking receive, the
    size of the buffer."""
    found = []
    for event in events:
        kind = event["kind"]
        if kind.startswith("rma_") and "peer" in event:
            window = process.windows[int(event["object"])] if "object" in event else None
            peers = members_of(process.comms[int(window["comm"])])[1] if window else []
            parts = [(">", "bytes")] * (kind != "rma_get") + [("<", "received")] * (
                kind == "rma_get" or event["received"] != "0")
        elif kind in SENDS + RECEIVES:
            peers = members_of(process.comms[int(event["comm"])])[1] if "comm" in event else []
            parts = [(">" if kind in SENDS else "<", "bytes")]
        else:
            continue
        peer, tag = int(event.get("peer", -4)), int(event.get("tag", -4))
        world = peers[peer] if 0 <= peer < len(peers) else "-"
        found += [f"{direction}{WORDS.get(peer, peer)}/{world}/{'-' if tag == -4 else WORDS.get(tag, tag)}/{event[size]}"
                  for direction, size in parts]
    return found


class Truth:
    """Compares one rank. Requests are followed from the handle of the program to the number in the trace; of several
    requests with one handle, the oldest completes first."""
    def __init__(self, process):
        self.process, self.numbers, self.wrong = process, {}, []

    def note(self, place, true, text):
        self.wrong.append(f"call {place}, {true['function']}: {text}")

    def check_transfers(self, place, true, events):
        wanted = true.get("transfers", "-")
        found = ",".join(transfers_of(self.process, events)) or "-"
        # If the probe that found a message is missing, nothing is known about the message.
        is_unknown = true["function"].startswith("MPI_Mrecv") and found == "-" and "/-/" in wanted
        if found == ">null/-/-/0":  # a one-sided access has only one direction
            wanted = wanted.removesuffix(",<null/-/-/0")
        if not is_unknown and not fnmatchcase(found, wanted):
            self.note(place, true, f"{found} instead of {wanted}")

    def check_collective(self, place, true, events):
        for event in events:
            if event["kind"] == "collective_end":
                self.check_sizes(place, true, event, true)

    def check_sizes(self, place, true, event, begun):
        moved = event["bytes"], event["received"]
        wanted = begun.get("sent", "0"), begun.get("received", "0")
        if moved != wanted:
            self.note(place, true, f"{moved} bytes instead of {wanted}")
        root, true_root = event.get("root", "-"), begun.get("root", "-")
        if not fnmatchcase(ROOTS.get(root, root), true_root):
            self.note(place, true, f"root {root} instead of {true_root}")

    def check_begins(self, place, true, events):
        begun = [event["request"] for event in events if event["kind"] in BEGINS and "request" in event]
        handles = true["started"]
        if begun and (not handles or len(begun) % len(handles)):
            self.note(place, true, f"{len(begun)} requests instead of {len(handles)}")
            return
        each = len(begun) // len(handles) if handles else 0
        transfers = true.get("transfers", "-").split(",")
        for number, handle in enumerate(handles):
            part = true | ({"came": transfers[number].rpartition("/")[2]} if len(handles) == len(transfers) > 1 else {})
            self.numbers.setdefault(handle, []).append((begun[each * number:each * (number + 1)], part))

    def forget_freed(self, events):
        freed = {event["request"] for event in events if event["kind"] == "request_freed"}
        for handle, begun in self.numbers.items() if freed else ():
            self.numbers[handle] = [it for it in begun if not freed.intersection(it[0])]

    def check_ends(self, place, true, events):
        ended = [event for event in events if event["kind"] in ENDS and "request" in event]
        wanted = {}
        for handle in true["completed"]:
            numbers, begun = self.numbers[handle].pop(0) if self.numbers.get(handle) else ([], None)
            wanted |= dict.fromkeys(numbers, begun)
        found = [event["request"] for event in ended]
        if sorted(found, key=int) != sorted(wanted, key=int):
            self.note(place, true, f"requests {found} have ended instead of {[*wanted]}")
            return
        for event in ended:
            begun = wanted[event["request"]]
            if event["kind"] == "irecv" and event["bytes"] != begun.get("came", begun.get("received", "0")):
                self.note(place, true, f"{event['bytes']} bytes were received by {begun}")
            elif event["kind"] == "icollective_complete":
                self.check_sizes(place, true, event, begun)

    def check(self, lines, calls):
        for place, (true, (function, events)) in enumerate(zip(lines, calls), 1):
            if function != true["function"]:
                self.note(place, true, f"{function} is in the trace")
                break
            self.check_transfers(place, true, events)
            self.check_collective(place, true, events)
            self.check_ends(place, true, events)
            self.forget_freed(events)
            self.check_begins(place, true, events)
        if not self.wrong and len(lines) != len(calls):
            self.wrong.append(f"{len(lines)} calls, {len(calls)} in the trace")
        return self.wrong


def check_truth(processes, folder):
    """Checks that the trace has exactly the calls that the ranks have written to their files in this folder."""
    for rank, process in processes.items():
        wrong = Truth(process).check(lines_of(folder / f"expected.{rank}"), calls_of(process))
        assert not wrong, f"rank {rank}: {len(wrong)} wrong\n" + "\n".join(wrong[:12])
