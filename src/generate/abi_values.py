# SPDX-License-Identifier: MIT
"""The predefined handles and constants of the standard ABI, and the meaning of a function's integers."""
import re
from dataclasses import dataclass

from mpi_header import Function, Parameter

HANDLES = {  # type -> QMPIX_KIND_...
    "MPI_Comm": "COMM", "MPI_Datatype": "DATATYPE", "MPI_Errhandler": "ERRHANDLER", "MPI_File": "FILE",
    "MPI_Group": "GROUP", "MPI_Info": "INFO", "MPI_Message": "MESSAGE", "MPI_Op": "OP",
    "MPI_Request": "REQUEST", "MPI_Session": "SESSION", "MPI_Win": "WIN",
}


@dataclass
class Constants:
    """Integers of one meaning: which constants they may be, and the parameters that have it."""

    pattern: str
    parameters: str = ""
    bits: bool = False  # several may be combined


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
        r"MPI_MODE_(APPEND|CREATE|DELETE_ON_CLOSE|EXCL|RDONLY|RDWR|SEQUENTIAL|UNIQUE_OPEN|WRONLY)$",
        "amode", bits=True),
    "ASSERT": Constants(r"MPI_MODE_(NOCHECK|NOPRECEDE|NOPUT|NOSTORE|NOSUCCEED)$", "assert", bits=True),
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
WEIGHTS = "WEIGHTS"  # MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY: addresses
MEANINGS = ["NONE", *CONSTANTS, WEIGHTS]
# What the program gives MPI_Abort becomes its exit status.
PLAIN = {("MPI_Abort", "errorcode")}


def meaning_of(function: Function, parameter: Parameter) -> str:
    """The meaning of an integer parameter, or of the integers that it points to."""
    base = parameter.type.replace("const ", "").split()[0]
    if base not in ("int", "MPI_T_cb_safety", "MPI_T_source_order") or (function.name, parameter.name) in PLAIN:
        return "NONE"
    if parameter.name in ("weights", "sourceweights", "destweights"):
        return WEIGHTS
    for meaning, constants in CONSTANTS.items():
        if parameter.name in constants.parameters.split():
            return meaning
    return "NONE"


def read_handles(text: str, known: set[str]) -> list[tuple[str, str, int]]:
    """(type, name, value) of each predefined handle in the text of the ABI's mpi.h, with a name that is known."""
    found = {}
    for name, kind, value in re.findall(r"^#define (MPI_\w+)\s+\(\((MPI_\w+)\)\s*(0x[0-9a-f]+)\)", text, re.M):
        if kind in HANDLES and name in known:
            found.setdefault(int(value, 16), (kind, name, int(value, 16)))
    return list(found.values())


def read_constants(text: str) -> dict[str, list[tuple[str, int]]]:
    """meaning -> (name, value) of each of its constants."""
    pairs = re.findall(r"^(?:#define|   ) (MPI_\w+)\s+(?:= )?\(?(-?\w+)\)?,?$", text, re.M)
    values = {name: int(value, 0) for name, value in pairs if re.match(r"-?\d", value)}
    return {meaning: [(name, value) for name, value in values.items() if re.match(constants.pattern, name)]
            for meaning, constants in CONSTANTS.items()}
