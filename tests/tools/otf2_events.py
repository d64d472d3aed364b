# SPDX-License-Identifier: MIT
"""Compares an archive in OTF2 with the files of the processes from which it was made, event by event, in each thread.
This is a second, independent implementation of what docs/run/trace-otf2.md describes."""
from archives import read_archive

RMA = {"rma_put": "RmaPut", "rma_get": "RmaGet", "rma_atomic": "RmaAtomic"}
OBJECTS = {"comm_create": "CommCreate", "comm_destroy": "CommDestroy", "win_create": "RmaWinCreate",
           "win_destroy": "RmaWinDestroy", "file_open": "IoCreateHandle", "file_close": "IoDestroyHandle"}
STATES = {"off": ["OFF"], "on": ["ON"], "dropped": ["OFF", "ON"]}
UNDEFINED = 2**64 - 1  # OTF2_UNDEFINED_UINT64
# Collectives whose constants in OTF2 follow from the names of the functions. For other collectives, the constants are
# not compared.
COLLECTIVES = {"Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall",
               "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan"}


def members_of(comm):
    """Returns the ranks in MPI_COMM_WORLD of the members of a communicator, and of the peers in it.
    An archive combines both groups of an intercommunicator in one, the group with the lowest rank
    first."""
    group, remote = ([int(rank) for rank in comm[name].split(",") if rank] for name in ("group", "remote"))
    both = sorted([group, remote], key=min) if remote else [group, []]
    return both[0] + both[1], remote or group


def collective_of(function):
    """Returns the constant of OTF2 for a collective if it follows from the name of the function."""
    name = function.removeprefix("MPI_").removesuffix("_c").removesuffix("_init")
    name = name[1:].capitalize() if name.startswith("I") else name
    return name.upper() if name in COLLECTIVES else None


class Expected:
    """Produces the events that an archive must contain, from the events in the file of one process."""
    def __init__(self, process):
        self.process, self.ignored, self.kinds = process, set(), {}

    def comm(self, event):
        """Returns members_of for the communicator of an event."""
        return members_of(self.process.comms[int(event["comm"])])

    def rank(self, event, name):
        """Returns the rank of a peer in MPI_COMM_WORLD, or None if it has none."""
        number = int(event.get(name, -4))
        remote = self.comm(event)[1] if "comm" in event else []
        return remote[number] if 0 <= number < len(remote) else None

    def message(self, kind, event):
        tag = int(event["tag"])
        return {"kind": kind, "members": self.comm(event)[0], "peer": self.rank(event, "peer"),
                "tag": tag if tag >= 0 else 2**32 - 1, "bytes": int(event["bytes"])}

    def collective(self, kind, event, function):
        found = {"kind": kind, "members": self.comm(event)[0], "bytes": int(event["bytes"]),
                 "received": int(event["received"])}
        if int(event.get("root", -4)) >= 0:
            found["root"] = self.rank(event, "root")
        return found | ({"operation": collective_of(function)} if collective_of(function) else {})

    def request(self, event):
        """Returns the events for an event of a request. Received messages are handled by the method `nonblocking`."""
        kind, number = event["kind"], event["request"]
        sort = self.kinds.get(number)
        if number in self.ignored:
            return []
        if kind == "isend_complete":
            return [{"kind": "MpiIsendComplete", "request": int(number)}]
        if kind == "request_test":
            name = {"rma": "RmaOpTest", "io": "IoOperationTest"}.get(sort, "MpiRequestTest")
        elif kind == "request_cancelled":
            name = {"rma": None, "io": "IoOperationCancelled"}.get(sort, "MpiRequestCancelled")
        else:
            name = None
        return [{"kind": name} | ({"request": int(number)} if name.startswith("Mpi") else {})] if name else []

    def blocking(self, kind, event):
        """Returns the event for a blocking message, or none if the peer is not known."""
        known = "comm" in event and self.rank(event, "peer") is not None
        return [self.message("MpiSend" if kind == "send" else "MpiRecv", event)] if known else []

    def nonblocking(self, kind, event):
        """Returns the events for a nonblocking message. The archive lacks requests without a known peer, except those
        that receive from any rank."""
        number, peer = event["request"], self.rank(event, "peer")
        if kind == "irecv":
            if number in self.ignored:
                return []
            if peer is None:  # the request has begun as a receive from any rank, but no rank is known
                return [{"kind": "MpiRequestCancelled", "request": int(number)}]
            return [self.message("MpiIrecv", event) | {"request": int(number)}]
        if "comm" not in event or (peer is None and (kind == "isend" or event["peer"] != "-1")):
            self.ignored.add(number)
            return []
        if kind == "isend":
            return [self.message("MpiIsend", event) | {"request": int(number)}]
        return [{"kind": "MpiIrecvRequest", "request": int(number)}]

    def access(self, kind, event):
        """Returns the events for a one-sided access."""
        if "object" not in event or int(event["peer"]) < 0:
            self.ignored.add(event.get("request"))
            return []
        if "request" in event:
            self.kinds[event["request"]] = "rma"
        sent, received = int(event["bytes"]), int(event["received"])
        name = "RmaAtomic" if kind == "rma_put" and received else RMA[kind]
        moved = {"RmaPut": {"bytes": sent}, "RmaGet": {"bytes": received}}
        comm = self.process.comms[int(self.process.windows[int(event["object"])]["comm"])]
        return [{"kind": name, "peer": members_of(comm)[1][int(event["peer"])]} |
                moved.get(name, {"bytes": sent, "received": received})]

    def file(self, kind, event):
        if kind == "io_request":
            self.kinds[event["request"]] = "io"
            return [{"kind": "IoOperationBegin", "asked": UNDEFINED}, {"kind": "IoOperationIssued"}]
        moved = {"kind": "IoOperationComplete", "bytes": int(event["bytes"]) + int(event["received"])}
        if "request" in event:
            return [moved]
        # A file may have fewer bytes than a read has asked for.
        asked = {"asked": UNDEFINED if int(event["received"]) else moved["bytes"]} if moved["bytes"] else {}
        return [{"kind": "IoOperationBegin"} | asked, moved]

    def of(self, event, calls):
        """Returns the events of the archive for one event. `calls` are the calls in progress, each as (function,
        event that began its collective operation, or None)."""
        kind = event["kind"]
        if kind == "enter":
            return [{"kind": "Enter", "function": event["function"], "has_site": "site" in event}]
        if kind in ("leave", "interrupted"):
            name, collective = calls[-1]
            end = [{"kind": "Leave", "function": name}]
            if collective:  # the call has failed
                nothing = {"bytes": 0, "received": 0, "root": -4}
                end.insert(0, self.collective("MpiCollectiveEnd", collective | nothing, name))
            return end
        if kind in ("send", "recv"):
            return self.blocking(kind, event)
        if kind in ("isend", "irecv_request", "irecv"):
            return self.nonblocking(kind, event)
        if kind == "collective_begin":
            return [{"kind": "MpiCollectiveBegin"}]
        if kind == "collective_end":
            begin = [] if calls[-1][1] else [{"kind": "MpiCollectiveBegin"}]
            return [*begin, self.collective("MpiCollectiveEnd", event, calls[-1][0])]
        if kind == "icollective_request":
            return [{"kind": "NonBlockingCollectiveRequest", "request": int(event["request"])}]
        if kind == "icollective_complete":
            return [self.collective("NonBlockingCollectiveComplete", event, event["function"]) |
                    {"request": int(event["request"])}]
        if kind in RMA:
            return self.access(kind, event)
        if kind == "rma_complete":
            return [{"kind": "RmaOpCompleteNonBlocking"}] if event["request"] not in self.ignored else []
        if kind in ("io", "io_request"):
            return self.file(kind, event)
        if kind in OBJECTS:
            return [{"kind": OBJECTS[kind]}]
        if kind == "counter":
            return [{"kind": "Metric", "value": float(event["value"])}]
        if kind == "flush":
            return [{"kind": "BufferFlush"}]
        if kind in STATES:
            return [{"kind": "MeasurementOnOff", "mode": mode} for mode in STATES[kind]]
        return self.request(event) if "request" in event else []

    def all(self, events):
        """Returns the events of one thread, apart from regions, because the archive divides these so that they nest."""
        calls, found = [], []
        for event in events:
            if event["kind"].startswith("region"):
                continue
            found += self.of(event, calls)
            if event["kind"] == "enter":
                calls.append((event["function"], None))
            elif event["kind"] in ("leave", "interrupted"):
                calls.pop()
            elif event["kind"] in ("collective_begin", "collective_end"):
                calls[-1] = calls[-1][0], event if event["kind"] == "collective_begin" else None
        while calls:  # calls in progress at the end of the process last until then
            found += self.of({"kind": "leave"}, calls)
            calls.pop()
        return found


def rank_of(location):
    name = location.group.name
    return int(name.removeprefix("MPI Rank ")) if name.startswith("MPI Rank ") else -4


def members(location, comm):
    ranks = [rank_of(member) if hasattr(member, "group") else member for member in comm.group.members]
    return ranks or [rank_of(location)]  # MPI_COMM_SELF


def tell_archived(location, event):
    """Returns an event of an archive, or None if it belongs to a region."""
    import otf2
    kind, found = type(event).__name__, {"kind": type(event).__name__}
    if kind in ("Enter", "Leave"):
        if event.region.paradigm == otf2.Paradigm.USER:
            return None
        found |= {"function": event.region.name}
        return found | ({"has_site": bool(event.attributes)} if kind == "Enter" else {})
    if hasattr(event, "communicator"):
        found["members"] = members(location, event.communicator)
    for name in ("receiver", "sender", "root"):
        if hasattr(event, name):
            number = getattr(event, name)
            found["root" if name == "root" else "peer"] = (
                found["members"][number] if number < len(found["members"]) else None)
    for name, short in (("msg_tag", "tag"), ("msg_length", "bytes"), ("request_id", "request"), ("size_sent", "bytes"),
                        ("size_received", "received"), ("bytes", "bytes"), ("bytes_sent", "bytes"),
                        ("bytes_received", "received"), ("bytes_result", "bytes"), ("bytes_request", "asked")):
        if hasattr(event, name):
            found[short] = getattr(event, name)
    if hasattr(event, "collective_op"):
        found["operation"] = str(event.collective_op).partition(".")[2]
    if hasattr(event, "remote"):
        found["peer"] = members(location, event.win.comm)[event.remote]
    if kind == "Metric":
        found["value"] = event.values[0]
    if kind == "MeasurementOnOff":
        found["mode"] = str(event.measurement_mode).partition(".")[2]
    return found


def differences(expected, found):
    """Returns a description of the first difference, or None if there is none."""
    for place, (true, got) in enumerate(zip(expected, found)):
        wrong = {name: (value, got.get(name)) for name, value in true.items() if got.get(name) != value}
        if wrong:
            return f"event {place}: {wrong} of {true}; before it {expected[max(0, place - 3):place]}"
    return f"{len(expected)} events, {len(found)} in the archive" if len(expected) != len(found) else None


def check_archive_of(processes, anchor):
    """Checks that an archive contains exactly the events of the files of the processes, apart from those of regions."""
    threads, times = {}, {}
    for location, event in read_archive(anchor)[1]:
        place = rank_of(location), location.name
        assert event.time >= times.get(place, 0), (place, event)
        times[place] = event.time
        told = tell_archived(location, event)
        if told:
            threads.setdefault(place, []).append(told)
    for rank, process in processes.items():
        expected = Expected(process)
        names = [location["name"] for location in process.locations]
        assert len(set(names)) == len(names)
        for index, name in enumerate(names):
            true = expected.all(process.events.get(index, []))
            found = threads.pop((rank, name), [])
            if not true:  # the archive has a single event, which states that nothing was recorded
                true = [{"kind": "MeasurementOnOff", "mode": "OFF"}] if found else []
            problem = differences(true, found)
            assert not problem, f"rank {rank}, {name}: {problem}"
    # The archive may contain further threads, which recorded nothing and are not in the files.
    assert all(len(found) == 1 and found[0].get("mode") == "OFF" for found in threads.values()), list(threads)
