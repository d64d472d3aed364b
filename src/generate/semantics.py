# SPDX-License-Identifier: MIT
"""What a call means: which parameters are its buffers, its peers, its communicator.

A function's shape follows from its name; the parameters that play a role in that shape follow from
their names, which are the MPI standard's.
"""
import re
from dataclasses import dataclass, field

from mpi_header import Function

BUFFER = ("buf", "count", "datatype")
SENT = ("sendbuf", "sendcount|sendcounts", "sendtype|sendtypes")
RECEIVED = ("recvbuf", "recvcount|recvcounts", "recvtype|recvtypes")
REDUCED = {"send": ("sendbuf", "count", "datatype"), "receive": ("recvbuf", "count", "datatype")}
SCATTERED = ("recvbuf", "recvcount|recvcounts", "datatype")
ORIGIN_BUFFER = ("origin_addr", "origin_count", "origin_datatype")
ONE = ("origin_addr", "", "datatype")

# Shape: the parameters of its buffers (address, count, datatype) and of its peers.
SHAPES = {
    "SEND": {"send": BUFFER, "destination": "dest", "send_tag": "tag"},
    "RECEIVE": {"receive": BUFFER, "source": "source", "receive_tag": "tag"},
    "MATCHED_RECEIVE": {"receive": BUFFER},
    "MATCHED_PROBE": {"source": "source", "receive_tag": "tag"},
    "SENDRECV": {
        "send": SENT, "receive": RECEIVED, "destination": "dest", "send_tag": "sendtag",
        "source": "source", "receive_tag": "recvtag",
    },
    "SENDRECV_REPLACE": {
        "send": BUFFER, "receive": BUFFER, "destination": "dest", "send_tag": "sendtag",
        "source": "source", "receive_tag": "recvtag",
    },
    "BCAST": {"send": ("buffer", "count", "datatype")},
    "GATHER": {"send": SENT, "receive": RECEIVED},
    "SCATTER": {"send": SENT, "receive": RECEIVED},
    "ALLGATHER": {"send": SENT, "receive": RECEIVED},
    "ALLTOALL": {"send": SENT, "receive": RECEIVED},
    "NEIGHBOR_ALLGATHER": {"send": SENT, "receive": RECEIVED},
    "NEIGHBOR_ALLTOALL": {"send": SENT, "receive": RECEIVED},
    "ALLREDUCE": REDUCED,
    "REDUCE": REDUCED,
    "SCAN": REDUCED,
    "EXSCAN": REDUCED,
    "REDUCE_SCATTER": {"send": ("sendbuf",) + SCATTERED[1:], "receive": SCATTERED},
    "PUT": {"send": ORIGIN_BUFFER, "destination": "target_rank"},
    "GET": {"receive": ORIGIN_BUFFER, "source": "target_rank"},
    "FETCH": {
        "send": ORIGIN_BUFFER, "receive": ("result_addr", "result_count", "result_datatype"),
        "destination": "target_rank", "source": "target_rank",
    },
    "FETCH_ONE": {
        "send": ONE, "receive": ("result_addr", "", "datatype"),
        "destination": "target_rank", "source": "target_rank",
    },
    "READ": {"receive": BUFFER},
    "WRITE": {"send": BUFFER},
    "START": {},
    "COMPLETE": {},
}

# Name without MPI_ and _c, and without the I of nonblocking and the _init of persistent variants.
NAMES = [
    ("SEND", r"[bsr]?send|psend"),
    ("RECEIVE", r"recv|precv"),
    ("MATCHED_RECEIVE", r"mrecv"),
    ("MATCHED_PROBE", r"mprobe"),
    ("SENDRECV", r"sendrecv"),
    ("SENDRECV_REPLACE", r"sendrecv_replace"),
    ("BCAST", r"bcast"),
    ("GATHER", r"gatherv?"),
    ("SCATTER", r"scatterv?"),
    ("ALLGATHER", r"allgatherv?"),
    ("ALLTOALL", r"alltoall[vw]?"),
    ("NEIGHBOR_ALLGATHER", r"neighbor_allgatherv?"),
    ("NEIGHBOR_ALLTOALL", r"neighbor_alltoall[vw]?"),
    ("ALLREDUCE", r"allreduce"),
    ("REDUCE", r"reduce"),
    ("SCAN", r"scan"),
    ("EXSCAN", r"exscan"),
    ("REDUCE_SCATTER", r"reduce_scatter(_block)?"),
    ("PUT", r"r?put|r?accumulate"),
    ("GET", r"r?get"),
    ("FETCH", r"r?get_accumulate"),
    ("FETCH_ONE", r"fetch_and_op|compare_and_swap"),
    ("READ", r"file_i?read(_\w+)?"),
    ("WRITE", r"file_i?write(_\w+)?"),
    ("START", r"start(all)?"),
    ("COMPLETE", r"(wait|test)(all|any|some)?"),
]

# Roles that go by the parameter's name alone, whatever the shape.
COMMON = {
    "root": "root", "window": "win", "file": "fh", "status": "status", "op": "op",
    "request": "request|array_of_requests", "partitions": "partitions",
    "message": "message",
}
# And in MPI_Startall, and where requests are completed.
OF_REQUESTS = {
    "requests": "count|incount", "flag": "flag", "index": "index", "outcount": "outcount",
    "indices": "array_of_indices", "statuses": "array_of_statuses",
}

# Functions whose status the layers below get even if the program ignores it.
STATUS_GIVEN = ("RECEIVE", "MATCHED_RECEIVE", "MATCHED_PROBE", "SENDRECV", "SENDRECV_REPLACE", "READ", "WRITE",
                "COMPLETE")


@dataclass
class Meaning:
    shape: str = "NONE"
    immediate: bool = False  # gives a request of an operation that it has started
    persistent: bool = False  # gives a request of an operation that MPI_Start starts
    roles: dict[str, int] = field(default_factory=dict)  # role -> place of the parameter


def place(function: Function, names: str) -> int:
    """The place of the parameter that has one of the names; -1: there is none."""
    for index, parameter in enumerate(function.parameters):
        if parameter.name in names.split("|"):
            return index
    return -1


def shape_of(function: Function) -> str:
    # Before MPI 4 persistent collectives were an extension of Open MPI: MPIX_Bcast_init. MPICH's MPIX_Stream_send
    # is an MPI_Send that names streams, too. What it only enqueues on a stream, as MPIX_Send_enqueue does, is
    # transferred after the call: it has no shape.
    name = re.sub(r"^MPIX_(?=\w+_init$)|^MPIX_Stream_(?=i?(send|recv)(_c)?$)", "MPI_", function.name)
    name = name.removesuffix("_c").lower()
    if not name.startswith("mpi_"):
        return "NONE"
    name = name[4:]
    for shape, pattern in NAMES:
        if re.fullmatch(rf"i?({pattern})(_init)?", name):
            return shape
    return "NONE"


def comm_of(function: Function) -> int:
    for index, parameter in enumerate(function.parameters):
        if parameter.type == "MPI_Comm":
            return index
    if function.name in ("MPI_Comm_free", "MPI_Comm_disconnect"):
        return 0
    return -1


def meaning_of(function: Function) -> Meaning:
    shape = shape_of(function)
    roles = {"comm": comm_of(function)}
    names_of = dict(COMMON) if shape != "NONE" else {"root": "root"}
    if shape in ("START", "COMPLETE"):
        names_of.update(OF_REQUESTS)
    roles.update({role: place(function, names) for role, names in names_of.items()})
    if shape == "MATCHED_PROBE":
        roles["flag"] = place(function, "flag")
    for role, names in SHAPES.get(shape, {}).items():
        if isinstance(names, tuple):
            parts = zip(("buffer", "count", "type"), names)
            roles.update({f"{role}_{part}": place(function, name) for part, name in parts})
        else:
            roles[role] = place(function, names)
    has_request = place(function, "request") >= 0 and shape not in ("START", "COMPLETE")
    persistent = has_request and re.search(r"_init(_c)?$", function.name) is not None
    starts = has_request and not persistent and (
        shape != "NONE" or re.match(r"MPI_I", function.name)
        or re.match(r"MPIX?_\w+_i(dup|flush|agree|shrink)(_|$)", function.name)
        or re.match(r"MPIX?_Grequest_(start|class_allocate)", function.name)
    )
    if (starts or persistent) and "request" not in roles:
        roles["request"] = place(function, "request")
    return Meaning(shape, bool(starts), persistent, {k: v for k, v in roles.items() if v >= 0})


def gets_status(function: Function, meaning: Meaning) -> bool:
    return meaning.shape in STATUS_GIVEN and "status" in meaning.roles
