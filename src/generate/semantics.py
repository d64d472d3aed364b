# SPDX-License-Identifier: MIT
"""The meaning of MPI functions. This is the only file that defines it; the terms are explained in
<qmpi/traits.h>.

The meaning follows from names and types. The name of a function gives its group, role and shape. The
names of its parameters, which are those of the MPI standard, and their types give the roles,
constants and lengths of its arguments.
"""
import re
from dataclasses import dataclass, field

from mpi_header import Function, Parameter

# ---- Groups: the chapters of the MPI standard ------------------------------------------------------------------------

COLLECTIVE_NAMES = (
    "Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Allreduce|Reduce|Reduce_scatter"
    "|Reduce_scatter_block|Scan|Exscan|Neighbor_allgatherv?|Neighbor_alltoall[vw]?"
)

# The first pattern that matches the whole name without _c applies. If none matches, the group
# follows from the role of the function (GROUPS_OF_ROLES); for other roles, it is ENVIRONMENT.
GROUPS = [
    ("TOOL_INFORMATION", r"MPI_T_.*|MPI_Pcontrol"),
    ("IO", r"MPIX?_File_.*|MPI_Register_datarep"),
    ("ONE_SIDED", r"MPIX?_Win_.*|MPI_R?(put|get|accumulate|get_accumulate)"),
    ("ONE_SIDED", r"MPI_(Fetch_and_op|Compare_and_swap)"),
    ("PROCESS", r"MPI_Comm_(accept|connect|disconnect|get_parent|join|spawn.*)"),
    ("PROCESS", r"MPI_(Open_port|Close_port|Lookup_name|Publish_name|Unpublish_name)"),
    ("TOPOLOGY", r"MPI_(Cart_.*|Cartdim_get|Graph_.*|Graphdims_get|Dist_graph_.*|Dims_create)"),
    ("TOPOLOGY", r"MPI_Topo_test"),
    ("COLLECTIVE", rf"MPI_I?({COLLECTIVE_NAMES})|MPIX?_({COLLECTIVE_NAMES})_init"),
    ("POINT_TO_POINT", r"MPI_I?[bsr]?send(_init)?|MPI_I?m?recv(_init)?|MPI_I?sendrecv(_replace)?"),
    ("POINT_TO_POINT", r"MPI_I?m?probe|MPI_Buffer_.*|MPI_Cancel|MPI_P(send|recv)_init"),
    ("POINT_TO_POINT", r"MPI_(Pready.*|Parrived)|MPI_(Comm|Session)_(attach|detach|i?flush)_buffer"),
    ("POINT_TO_POINT", r"MPIX_Stream_I?(send|recv)|MPIX_I?(send|recv)_enqueue"),
    ("COLLECTIVE", r"MPIX_Allreduce_enqueue"),
    ("COMPLETION", r"MPIX_Wait(all)?_enqueue"),
    ("COMPLETION", r"MPI_(Wait|Test)(all|any|some)?|MPI_Start(all)?|MPIX?_(Request|Grequest)_.*"),
    ("COMPLETION", r"MPI_Test_cancelled|MPI_Status_.*|MPI_Get_(count|elements(_x)?)"),
    ("DATATYPE", r"MPIX?_(Type|Op)_.*|MPI_(Pack|Unpack|Aint)_.*|MPI_(Pack|Unpack|Reduce_local)"),
    ("DATATYPE", r"MPI_(Get_address|Address)"),
    ("COMMUNICATOR", r"MPIX?_(Comm|Intercomm|Attr|Keyval)_.*|MPIX_(Stream_comm|Threadcomm)_.*"),
    ("GROUP", r"MPI_Group_.*"),
    ("INFO", r"MPIX?_Info_.*"),
]


# ---- Shapes: the parameters of data and peers ------------------------------------------------------------------------

BUFFER = ("buf", "count", "datatype")
SENT = ("sendbuf", "sendcount|sendcounts", "sendtype|sendtypes")
RECEIVED = ("recvbuf", "recvcount|recvcounts", "recvtype|recvtypes")
REDUCED = {"send": ("sendbuf", "count", "datatype"), "receive": ("recvbuf", "count", "datatype")}
SCATTERED = ("recvbuf", "recvcount|recvcounts", "datatype")
ORIGIN_BUFFER = ("origin_addr", "origin_count", "origin_datatype")
ONE = ("origin_addr", "", "datatype")

# The names of the parameters for buffers (address, count, datatype) and for peers, by shape.
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

# Functions of these shapes get a status even if the program passes none, if an observer requests one
# (QMPIX_OBSERVE_STATUSES).
STATUS_GIVEN = ("RECEIVE", "MATCHED_RECEIVE", "MATCHED_PROBE", "SENDRECV", "SENDRECV_REPLACE", "READ", "WRITE",
                "COMPLETE")


# ---- Roles of functions ----------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Rule:
    names: str  # lower case, without MPI_, MPIX_ and _c; `i?`: nonblocking variants, `(_init)?`: persistent ones
    role: str
    shape: str = "NONE"
    flags: str = ""
    collective: str = "NONE"  # which collective operation it is: QMPIX_Collective
    flow: str = "NONE"  # from whom to whom a collective operation transfers data: QMPIX_Flow
    access: str = "NONE"  # how it accesses a window or a file: QMPIX_Access
    creation: str = ""  # how a communicator is made, for its identity: see emit_comms.py


def collective(name: str, shape: str, flow: str, flags: str = "", operation: str = "") -> Rule:
    """Returns the rule for a collective operation and its nonblocking and persistent variants."""
    return Rule(rf"i?{name}(_init)?", "COLLECTIVE", shape, f"COLLECTIVE {flags}", operation or name.upper(), flow)


def creation(names: str, how: str = "", flags: str = "COLLECTIVE", flow: str = "NONE") -> Rule:
    return Rule(names, "COMM_CREATE", flags=flags, flow=flow, creation=how)


# The first rule whose pattern matches the whole name applies.
RULES = [
    Rule(r"init(_thread)?", "INIT"),
    Rule(r"finalize", "FINALIZE"),
    Rule(r"session_init", "SESSION_INIT"),
    Rule(r"session_finalize", "SESSION_FINALIZE"),
    Rule(r"abort", "ABORT"),
    Rule(r"pcontrol", "PCONTROL"),

    Rule(r"i?send(_init)?", "SEND", "SEND"),
    Rule(r"i?bsend(_init)?", "SEND", "SEND", "BUFFERED"),
    Rule(r"i?rsend(_init)?", "SEND", "SEND", "READY"),
    Rule(r"i?ssend(_init)?", "SEND", "SEND", "SYNCHRONOUS"),
    Rule(r"psend_init", "SEND", "SEND", "PARTITIONED"),
    Rule(r"i?recv(_init)?", "RECEIVE", "RECEIVE"),
    Rule(r"precv_init", "RECEIVE", "RECEIVE", "PARTITIONED"),
    Rule(r"i?sendrecv", "SENDRECV", "SENDRECV"),
    Rule(r"i?sendrecv_replace", "SENDRECV", "SENDRECV_REPLACE"),
    Rule(r"probe", "PROBE"),
    Rule(r"iprobe", "PROBE", flags="POLLS"),
    Rule(r"mprobe", "MATCHED_PROBE", "MATCHED_PROBE"),
    Rule(r"improbe", "MATCHED_PROBE", "MATCHED_PROBE", "POLLS"),
    Rule(r"i?mrecv", "MATCHED_RECEIVE", "MATCHED_RECEIVE"),
    Rule(r"pready(_list|_range)?", "PARTITION"),
    Rule(r"parrived", "PARTITION", flags="POLLS"),
    Rule(r"cancel", "CANCEL"),

    Rule(r"start(all)?", "START", "START"),
    Rule(r"wait(all|any|some)?", "COMPLETE", "COMPLETE"),
    Rule(r"test(all|any|some)?", "COMPLETE", "COMPLETE", "POLLS"),
    Rule(r"request_get_status(_all|_any|_some)?", "REQUEST_STATUS", flags="POLLS"),
    Rule(r"request_free", "REQUEST_FREE"),

    collective("barrier", "NONE", "ALL"),
    collective("bcast", "BCAST", "FROM_ROOT"),
    collective("gather", "GATHER", "TO_ROOT"),
    collective("gatherv", "GATHER", "TO_ROOT", "IRREGULAR"),
    collective("scatter", "SCATTER", "FROM_ROOT"),
    collective("scatterv", "SCATTER", "FROM_ROOT", "IRREGULAR"),
    collective("allgather", "ALLGATHER", "ALL"),
    collective("allgatherv", "ALLGATHER", "ALL", "IRREGULAR"),
    collective("alltoall", "ALLTOALL", "ALL"),
    collective("alltoallv", "ALLTOALL", "ALL", "IRREGULAR"),
    collective("alltoallw", "ALLTOALL", "ALL", "IRREGULAR"),
    collective("allreduce", "ALLREDUCE", "ALL"),
    collective("reduce", "REDUCE", "TO_ROOT"),
    collective("reduce_scatter", "REDUCE_SCATTER", "ALL"),
    collective("reduce_scatter_block", "REDUCE_SCATTER", "ALL"),
    collective("scan", "SCAN", "SCAN"),
    collective("exscan", "EXSCAN", "EXSCAN"),
    collective("neighbor_allgather", "NEIGHBOR_ALLGATHER", "NEIGHBORS", "NEIGHBORHOOD", "ALLGATHER"),
    collective("neighbor_allgatherv", "NEIGHBOR_ALLGATHER", "NEIGHBORS", "NEIGHBORHOOD IRREGULAR", "ALLGATHERV"),
    collective("neighbor_alltoall", "NEIGHBOR_ALLTOALL", "NEIGHBORS", "NEIGHBORHOOD", "ALLTOALL"),
    collective("neighbor_alltoallv", "NEIGHBOR_ALLTOALL", "NEIGHBORS", "NEIGHBORHOOD IRREGULAR", "ALLTOALLV"),
    collective("neighbor_alltoallw", "NEIGHBOR_ALLTOALL", "NEIGHBORS", "NEIGHBORHOOD IRREGULAR", "ALLTOALLW"),

    creation(r"comm_i?dup(_with_info)?", "COPY", flow="ALL"),
    creation(r"comm_create|comm_split(_type)?|cart_(create|sub)|graph_create|dist_graph_create(_adjacent)?"
             r"|intercomm_merge", "PART", flow="ALL"),
    creation(r"comm_create_group|comm_create_from_group|intercomm_create_from_groups", "GROUP", flags=""),
    creation(r"intercomm_create", "GROUP"),
    creation(r"comm_(accept|connect|spawn|spawn_multiple|i?shrink)|threadcomm_init"
             r"|stream_comm_create(_multiplex)?"),
    creation(r"comm_join", flags=""),
    Rule(r"comm_free|comm_disconnect", "COMM_FREE", flags="COLLECTIVE"),
    Rule(r"comm_set_name", "COMM_NAME"),
    Rule(r"comm_set_info|comm_i?agree", "NONE", flags="COLLECTIVE"),
    Rule(r"type_free", "TYPE_FREE"),
    Rule(r"type_set_name", "TYPE_NAME"),

    Rule(r"win_create(_dynamic)?", "WIN_CREATE", flags="COLLECTIVE", flow="ALL"),
    Rule(r"win_allocate(_shared)?", "WIN_CREATE", flags="COLLECTIVE ALLOCATES", flow="ALL"),
    Rule(r"win_free", "WIN_FREE", flags="COLLECTIVE", flow="ALL"),
    Rule(r"win_fence", "WIN_FENCE", flags="COLLECTIVE", flow="ALL"),
    Rule(r"win_set_name", "WIN_NAME"),
    Rule(r"win_set_info", "NONE", flags="COLLECTIVE"),
    Rule(r"win_test", "NONE", flags="POLLS"),
    Rule(r"r?put", "ACCESS", "PUT", access="PUT"),
    Rule(r"r?get", "ACCESS", "GET", access="GET"),
    Rule(r"r?accumulate", "ACCESS", "PUT", access="ACCUMULATE"),
    Rule(r"r?get_accumulate", "ACCESS", "FETCH", access="FETCH"),
    Rule(r"fetch_and_op", "ACCESS", "FETCH_ONE", access="FETCH"),
    Rule(r"compare_and_swap", "ACCESS", "FETCH_ONE", access="COMPARE_AND_SWAP"),

    Rule(r"file_open", "FILE_OPEN", flags="COLLECTIVE", flow="ALL"),
    Rule(r"file_close", "FILE_CLOSE", flags="COLLECTIVE"),
    Rule(r"file_(preallocate|seek_shared|set_atomicity|set_info|set_size|set_view|sync)", "NONE", flags="COLLECTIVE"),
    *[Rule(rf"file_{variant}", role, access, flags, access=access)
      for access in ("READ", "WRITE")
      for variant, role, flags in (
          (rf"i?{access.lower()}(_at|_shared)?", "FILE_ACCESS", ""),
          (rf"i?{access.lower()}(_all|_at_all|_ordered)", "FILE_ACCESS", "COLLECTIVE"),
          (rf"{access.lower()}(_all|_at_all|_ordered)_begin", "FILE_BEGIN", "COLLECTIVE"),
          (rf"{access.lower()}(_all|_at_all|_ordered)_end", "FILE_END", "COLLECTIVE"))],
]
OTHER = Rule("", "NONE")

# Patterns of names, without MPI_, MPIX_ and _c, that identify a variant.
NONBLOCKING = re.compile(
    r"i(?!probe|mprobe|nit|nfo_|ntercomm_|s_)(?!\w+_enqueue)\w+|r(put|get|accumulate|get_accumulate)|file_i(read|write)\w*"
    r"|(comm|session|buffer)_i(dup|agree|shrink|flush)(_\w+)?|grequest_(start|class_allocate)")
PERSISTENT = re.compile(r"(?!session_|threadcomm_)\w+_init")
# Patterns that identify the functions with a flag that is not in their rule. CREATES also follows from CREATING_ROLES.
FLAGS = {
    "CREATES": re.compile(
        r"group_((range_)?(incl|excl)|union|intersection|difference|from_session_pset)|(?!t_)\w+_group"
        r"|comm_(failure_get_acked|get_failed)"
        r"|type_(contiguous|h?vector|h?indexed|struct|dup|create_(?!f90_|keyval)\w+)"  # f90: predefined types
        r"|op_create\w*|errhandler_create|\w+_create_errhandler(_x)?|info_(create|create_env|dup)|(?!t_)\w+_get_info"),
    "ANY_TIME": re.compile(
        r"initialized|finalized|get_(library_)?version|error_(class|string)|(add|remove)_error_(class|code|string)"
        r"|(t|info|session)_\w+"),
    "ANY_THREAD": re.compile(
        r"initialized|finalized|query_thread|is_thread_main|get_(library_)?version|wtime|wtick|aint_(add|diff)"
        r"|(t|info)_\w+"),
}
CREATING_ROLES = ("COMM_CREATE", "WIN_CREATE", "FILE_OPEN", "SESSION_INIT")
NO_ERROR = re.compile(r"MPIX_Query_\w+")  # these functions return a truth value as an int


def rule_of(name: str) -> Rule:
    """Returns the rule for the function of this name."""
    if not name.startswith(("MPI_", "MPIX_")):
        return OTHER
    short = short_name(name)
    return next((rule for rule in RULES if re.fullmatch(rule.names, short)), OTHER)


# The groups of functions that match no pattern of GROUPS.
GROUPS_OF_ROLES = {
    "SEND": "POINT_TO_POINT", "RECEIVE": "POINT_TO_POINT", "SENDRECV": "POINT_TO_POINT", "PROBE": "POINT_TO_POINT",
    "MATCHED_PROBE": "POINT_TO_POINT", "MATCHED_RECEIVE": "POINT_TO_POINT", "PARTITION": "POINT_TO_POINT",
    "CANCEL": "POINT_TO_POINT", "START": "COMPLETION", "COMPLETE": "COMPLETION", "REQUEST_STATUS": "COMPLETION",
    "REQUEST_FREE": "COMPLETION", "COLLECTIVE": "COLLECTIVE", "COMM_CREATE": "COMMUNICATOR", "WIN_CREATE": "ONE_SIDED",
    "ACCESS": "ONE_SIDED", "FILE_OPEN": "IO", "FILE_ACCESS": "IO",
}


def group_of(name: str) -> str:
    for group, pattern in GROUPS:
        if re.fullmatch(pattern, name.removesuffix("_c"), re.IGNORECASE):
            return group
    return GROUPS_OF_ROLES.get(rule_of(name).role, "ENVIRONMENT")


def short_name(name: str) -> str:
    # A function of an extension gets the name of the MPI function that has the same meaning.
    # Before MPI 4, persistent collectives were an extension of Open MPI: MPIX_Bcast_init. MPICH's
    # MPIX_Stream_send is an MPI_Send that names streams, too. A function that only enqueues a
    # transfer on a stream, such as MPIX_Send_enqueue, matches no rule, because the transfer takes
    # place after the call.
    name = re.sub(r"^MPIX_Stream_(?=i?(send|recv)(_c)?$)|^MPIX?_", "", name)
    return name.removesuffix("_c").lower()


def flags_of(name: str) -> list[str]:
    """Returns the flags that follow from the name of a function."""
    rule = rule_of(name)
    flags = rule.flags.split()
    short = short_name(name)
    if name.startswith(("MPI_", "MPIX_")):
        flags += [flag for flag, pattern in FLAGS.items()
                  if pattern.fullmatch(short) or (flag == "CREATES" and rule.role in CREATING_ROLES)]
    if name.startswith(("MPI_", "MPIX_")) and not name.startswith("MPI_T_"):
        flags += ["NONBLOCKING"] if NONBLOCKING.fullmatch(short) else []
        flags += ["PERSISTENT"] if PERSISTENT.fullmatch(short) else []
    return flags


# ---- The roles of arguments ------------------------------------------------------------------------------------------

# The names of parameters that have a role in functions of all shapes except NONE.
IN_SHAPES = {"op": "op", "partitions": "partitions"}
# The names of parameters that have a role in functions that start, complete or query requests.
OF_REQUESTS = {
    "requests": "count|incount", "index": "index", "outcount": "outcount", "indices": "array_of_indices",
    "statuses": "array_of_statuses",
}
# The names of parameters that have a role in all functions.
IN_ALL = {"root": "root"}
# Roles that follow from the type of a parameter; a role in NAMED also requires one of the names there.
TYPED = {
    "comm": r"MPI_Comm", "window": r"MPI_Win", "file": r"MPI_File", "request": r"(const )?MPI_Request ?(\*|\[\])",
    "message": r"MPI_Message ?\*", "status": r"MPI_Status ?\*", "flag": r"int ?\*",
}
NAMED = {"status": "status", "flag": "flag", "request": "request|array_of_requests"}
CREATED = {"COMM_CREATE": "MPI_Comm", "WIN_CREATE": "MPI_Win", "FILE_OPEN": "MPI_File"}
FREED = {"COMM_FREE": "comm", "WIN_FREE": "window", "FILE_CLOSE": "file"}


@dataclass
class Meaning:
    rule: Rule
    flags: list[str]
    roles: dict[str, int] = field(default_factory=dict)  # role -> position of the parameter

    @property
    def shape(self) -> str:
        return self.rule.shape

    @property
    def immediate(self) -> bool:
        return "NONBLOCKING" in self.flags

    @property
    def persistent(self) -> bool:
        return "PERSISTENT" in self.flags


def place(function: Function, names: str) -> int:
    """Returns the position of the parameter that has one of the names; -1: there is none."""
    for index, parameter in enumerate(function.parameters):
        if parameter.name in names.split("|"):
            return index
    return -1


def place_of_type(function: Function, pattern: str, names: str = "") -> int:
    for index, parameter in enumerate(function.parameters):
        if re.fullmatch(pattern, parameter.type) and (not names or parameter.name in names.split("|")):
            return index
    return -1


def meaning_of(function: Function) -> Meaning:
    rule = rule_of(function.name)
    roles = {role: place_of_type(function, pattern, NAMED.get(role, "")) for role, pattern in TYPED.items()}
    names_of = dict(IN_ALL)
    if rule.shape != "NONE":
        names_of.update(IN_SHAPES)
    if rule.role in ("START", "COMPLETE", "REQUEST_STATUS"):
        names_of.update(OF_REQUESTS)
    roles.update({role: place(function, names) for role, names in names_of.items()})
    if rule.role in CREATED:
        roles["created"] = place_of_type(function, CREATED[rule.role] + r" ?\*")
    if rule.role in FREED:
        roles[FREED[rule.role]] = 0
    for role, names in SHAPES.get(rule.shape, {}).items():
        if isinstance(names, tuple):
            parts = zip(("buffer", "count", "type"), names)
            roles.update({f"{role}_{part}": place(function, name) for part, name in parts})
        else:
            roles[role] = place(function, names)
    if rule.role == "PROBE":
        roles.update(source=place(function, "source"), receive_tag=place(function, "tag"))
    flags = flags_of(function.name)
    if function.result == "int" and not NO_ERROR.fullmatch(function.name):
        flags.append("ERROR")
    return Meaning(rule, flags, {role: index for role, index in roles.items() if index >= 0})


def gets_status(meaning: Meaning) -> bool:
    return meaning.shape in STATUS_GIVEN and "status" in meaning.roles


# ---- Constants -------------------------------------------------------------------------------------------------------

@dataclass
class Constants:
    """Integers with one meaning: the constants that they may be, and the parameters that have this
    meaning."""

    pattern: str
    parameters: str = ""
    # Whether several constants may be combined; emit_standard.py then lists them in the order of the pattern.
    bits: bool = False


CONSTANTS = {
    "RANK": Constants(
        r"MPI_(ANY_SOURCE|PROC_NULL|ROOT|UNDEFINED)$",
        "dest source rank root target_rank rank_source rank_dest newrank local_leader remote_leader "
        "ranks ranks1 ranks2 sources destinations neighbors"),
    "TAG": Constants(r"MPI_(ANY_TAG|UNDEFINED)$", "tag sendtag recvtag"),
    "ERROR": Constants(r"MPI_(SUCCESS|ERR_(?!LASTCODE)\w+|T_ERR_\w+)$", "errorcode errorclass array_of_errcodes err"),
    "THREAD": Constants(r"MPI_THREAD_\w+$", "required provided"),
    "COMPARISON": Constants(r"MPI_(IDENT|CONGRUENT|SIMILAR|UNEQUAL)$", "result"),
    "TOPOLOGY": Constants(r"MPI_(CART|GRAPH|DIST_GRAPH|UNDEFINED)$", "status"),
    "FILE_MODE": Constants(
        r"MPI_MODE_(RDONLY|WRONLY|RDWR|CREATE|EXCL|DELETE_ON_CLOSE|UNIQUE_OPEN|APPEND|SEQUENTIAL)$",
        "amode", bits=True),
    "ASSERT": Constants(r"MPI_MODE_(NOCHECK|NOSTORE|NOPUT|NOPRECEDE|NOSUCCEED)$", "assert", bits=True),
    "LOCK": Constants(r"MPI_LOCK_\w+$", "lock_type"),
    "WHENCE": Constants(r"MPI_SEEK_\w+$", "whence"),
    "COMBINER": Constants(r"MPI_COMBINER_\w+$", "combiner"),
    "ORDER": Constants(r"MPI_ORDER_\w+$", "order"),
    "DISTRIBUTION": Constants(r"MPI_DISTRIBUTE_(NONE|BLOCK|CYCLIC)$", "array_of_distribs"),
    "DISTRIBUTION_ARGUMENT": Constants(r"MPI_DISTRIBUTE_DFLT_DARG$", "array_of_dargs"),
    "SPLIT": Constants(r"MPI_(COMM_TYPE_\w+|UNDEFINED)$", "split_type"),
    "TYPE_CLASS": Constants(r"MPI_TYPECLASS_\w+$", "typeclass"),
    "KEYVAL": Constants(
        r"MPI_(KEYVAL_INVALID|TAG_UB|IO|HOST|WTIME_IS_GLOBAL|APPNUM|LASTUSEDCODE|UNIVERSE_SIZE"
        r"|WIN_(BASE|DISP_UNIT|SIZE|CREATE_FLAVOR|MODEL))$",
        "keyval comm_keyval type_keyval win_keyval"),
    "VERBOSITY": Constants(r"MPI_T_VERBOSITY_\w+$", "verbosity"),
    "BINDING": Constants(r"MPI_T_BIND_\w+$", "bind"),
    "SCOPE": Constants(r"MPI_T_SCOPE_\w+$", "scope"),
    "VARIABLE_CLASS": Constants(r"MPI_T_PVAR_CLASS_\w+$", "var_class"),
    "SAFETY": Constants(r"MPI_T_CB_REQUIRE_\w+$", "cb_safety"),
    "SOURCE_ORDER": Constants(r"MPI_T_SOURCE_\w+$", "ordering"),
}
WEIGHTS = "weights sourceweights destweights"
BOOLEANS = ("flag reorder commute high periods remain_dims is_supported weighted readonly continuous atomic is_set")
OR_UNDEFINED = "color index outcount"
BUFFERS = "buf buffer origin_addr result_addr inbuf outbuf inoutbuf compare_addr"
COLLECTIVE_BUFFERS = "sendbuf recvbuf"
# Arguments that are never converted: that of MPI_Abort becomes the exit status of the program.
PLAIN = {("MPI_Abort", "errorcode")}


def constants_of(function: Function, parameter: Parameter) -> str:
    """Returns the kind of constants (see QMPIX_Constants) that an argument, or an integer to which the argument
    points, may be."""
    base = parameter.type.replace("const ", "").split()[0]
    name = parameter.name
    if base == "void":
        return ("COLLECTIVE_BUFFER" if name in COLLECTIVE_BUFFERS.split() else
                "BUFFER" if name in BUFFERS.split() else "NONE")
    if base == "MPI_Count" or (base == "int" and name == "count"):
        return "UNDEFINED" if function.name.startswith("MPI_Get_") else "NONE"
    if base not in ("int", "MPI_T_cb_safety", "MPI_T_source_order") or (function.name, name) in PLAIN:
        return "NONE"
    if name in WEIGHTS.split():
        return "WEIGHTS"
    for kind, constants in CONSTANTS.items():
        if name in constants.parameters.split():
            return kind
    return ("BOOLEAN" if name in BOOLEANS.split() else
            "UNDEFINED" if name in OR_UNDEFINED.split() else "NONE")


def converted_constants_of(function: Function, parameter: Parameter) -> str:
    """Returns the same as constants_of if the values of these constants may differ between MPI
    libraries, otherwise NONE."""
    kind = constants_of(function, parameter)
    return kind if kind in CONSTANTS or kind == "WEIGHTS" else "NONE"


# ---- Buffers and their sizes -----------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Extent:
    functions: str  # regular expressions of the whole names
    parameters: str  # the same for the parameters; VALUE: each pointer to a single value of a known type
    direction: str
    length: str = "ONE"
    of: str = ""  # possible names of the parameter that gives the length


# The first entry that matches applies to a pointer. If none matches, a buffer and an array (except of
# characters) are addresses; any other pointer is an output, or an input if it is const.
EXTENTS = [
    # Handles, keys, positions, lengths, addresses and statuses.
    Extent(r".*_free(_keyval)?|MPI_(Keyval_free|Comm_disconnect|File_close|Session_finalize)", r"VALUE", "INOUT"),
    Extent(r"MPI_(Wait|Test|Start)", "request", "INOUT"),
    Extent(r"MPI_Cancel", "request", "IN"),
    Extent(r"MPI_(Mrecv|Imrecv).*", "message", "INOUT"),
    Extent(r"MPI_Type_commit", r".*type", "IN"),
    Extent(r"MPI_.*", "position", "INOUT"),
    Extent(r"MPI_.*", "name_len|desc_len|pset_len|buflen", "INOUT"),
    Extent(r"MPIX_Comm_agree", "flag", "INOUT"),
    Extent(r"MPI_.*(Buffer_detach|detach_buffer).*", "buffer.*", "OUT"),
    Extent(r"MPI_.*", "baseptr", "OUT"),
    Extent(r"MPI_.*get.*", "attribute_val", "OUT"),
    Extent(r"MPI_Status_set_.*", "status", "ADDRESS"),
    Extent(r"MPI_T_event_get_info", r"array_of_.*", "ADDRESS"),
    Extent(r"MPI_Status_c2f", "f_status", "OUT", "STATUS"),
    Extent(r"MPI_Status_f2c", "f_status", "IN", "STATUS"),
    # The command line, and spawning.
    Extent(r"MPI_Init.*", "argc", "IN"),
    Extent(r"MPI_Init.*", "argv", "IN", "OF", "argc"),
    Extent(r"MPI_Info_create_env", "argv", "IN", "OF", "argc"),
    Extent(r"MPI_Comm_spawn", "command", "IN", "OF_ROOT"),
    Extent(r"MPI_Comm_spawn", "argv", "IN", "STRINGS_ROOT"),
    Extent(r"MPI_Comm_spawn", "array_of_errcodes", "OUT", "OF_ROOT", "maxprocs"),
    Extent(r"MPI_Comm_spawn_multiple", "array_of_argv", "ADDRESS"),
    Extent(r"MPI_Comm_spawn_multiple", "array_of_errcodes", "OUT", "SUM_ROOT", "array_of_maxprocs"),
    Extent(r"MPI_Comm_spawn_multiple", r"array_of_.*", "IN", "OF_ROOT", "count"),
    Extent(r"MPI_Comm_(accept|connect)", "port_name", "IN", "OF_ROOT"),
    # Requests.
    Extent(r"MPI_.*", "array_of_requests", "IN", "OF", "count|incount"),
    Extent(r"MPI_.*all", "array_of_statuses", "OUT", "OF", "count"),
    Extent(r"MPI_.*some", "array_of_(statuses|indices)", "OUT", "OF", "outcount"),
    Extent(r"MPI_Pready_list", "array_of_partitions", "IN", "OF", "length"),
    # Collectives.
    Extent(r"MPI_.*eighbor_.*", "recvcounts|recvtypes|rdispls|displs", "IN", "INDEGREE"),
    Extent(r"MPI_.*eighbor_.*", "sendcounts|sendtypes|sdispls", "IN", "OUTDEGREE"),
    Extent(r"MPI_(Gatherv|Igatherv|Scatterv|Iscatterv).*", "recvcounts|sendcounts|displs", "IN", "PEERS_ROOT"),
    Extent(r"MPI_(Reduce_scatter|Ireduce_scatter).*", "recvcounts", "IN", "LOCAL"),
    Extent(r"MPI_.*", "recvcounts|sendcounts|displs|sdispls|rdispls|sendtypes|recvtypes", "IN", "PEERS"),
    # Topologies.
    Extent(r"MPI_Cart_(create|map)", "dims|periods", "IN", "OF", "ndims"),
    Extent(r"MPI_Dims_create", "dims", "INOUT", "OF", "ndims"),
    Extent(r"MPI_Cart_(get|coords)", "dims|periods|coords", "OUT", "DIMENSIONS", "maxdims"),
    Extent(r"MPI_Cart_(rank|sub)", "coords|remain_dims", "IN", "DIMENSIONS"),
    Extent(r"MPI_Graph_(create|map)", "index", "IN", "OF", "nnodes"),
    Extent(r"MPI_Graph_(create|map)", "edges", "IN", "LAST", "index"),
    Extent(r"MPI_Graph_get", "index", "OUT", "NODES", "maxindex"),
    Extent(r"MPI_Graph_get", "edges", "OUT", "EDGES", "maxedges"),
    Extent(r"MPI_Graph_neighbors", "neighbors", "OUT", "NEIGHBORS", "maxneighbors"),
    Extent(r"MPI_Dist_graph_create", "sources|degrees", "IN", "OF", "n"),
    Extent(r"MPI_Dist_graph_create", "destinations|weights", "IN", "SUM", "degrees"),
    Extent(r"MPI_Dist_graph_create_adjacent", r"source.*", "IN", "OF", "indegree"),
    Extent(r"MPI_Dist_graph_create_adjacent", r"dest.*", "IN", "OF", "outdegree"),
    Extent(r"MPI_Dist_graph_neighbors", r"source.*", "OUT", "INDEGREE", "maxindegree"),
    Extent(r"MPI_Dist_graph_neighbors", r"dest.*", "OUT", "OUTDEGREE", "maxoutdegree"),
    # Groups and datatypes.
    Extent(r"MPI_Group_.*", "ranks|ranks1|ranges", "IN", "OF", "n"),
    Extent(r"MPI_Group_.*", "ranks2", "OUT", "OF", "n"),
    Extent(r"MPI_Type_create_(darray|subarray).*", r"array_of_.*", "IN", "OF", "ndims"),
    Extent(r"MPI_Type_get_contents.*", "array_of_integers", "OUT", "INTEGERS", "max_integers"),
    Extent(r"MPI_Type_get_contents.*", "array_of_addresses", "OUT", "ADDRESSES", "max_addresses"),
    Extent(r"MPI_Type_get_contents.*", "array_of_large_counts", "OUT", "COUNTS", "max_large_counts"),
    Extent(r"MPI_Type_get_contents.*", "array_of_datatypes", "OUT", "DATATYPES", "max_datatypes"),
    Extent(r"MPI_Type_.*", r"array_of_.*", "IN", "OF", "count"),
]
# The name of a string that a call writes -> the parameter that gives its capacity.
ROOM = {"name": "name_len", "desc": "desc_len", "pset_name": "pset_len", "value": "buflen"}


def extent_of(function: Function, parameter: Parameter) -> tuple[str, str, int]:
    """Returns (direction, length, position of the parameter that gives the length; -1: none) of an argument."""
    text = parameter.type
    is_array = "[" in text
    pointers = text.count("*") + len(re.findall(r"\[\]", text))
    base = re.match(r"(?:const )?(\w+)", text)[1]
    if "_function" in base or not pointers:
        return "IN", "ONE", -1
    for extent in EXTENTS:
        if extent.parameters == "VALUE":
            fits = base != "void" and not is_array
        else:
            fits = re.fullmatch(extent.parameters, parameter.name)
        if fits and re.fullmatch(extent.functions, function.name):
            return extent.direction, extent.length, place(function, extent.of)
    if base == "void" or (is_array and base != "char"):
        return "ADDRESS", "ONE", -1
    if text.startswith("const"):
        return "IN", "ONE", -1
    room = place(function, ROOM.get(parameter.name, "")) if base == "char" else -1
    return "OUT", "ONE" if room < 0 else "ROOM", room
