# SPDX-License-Identifier: MIT
"""The group of each MPI function: the chapter of the MPI standard that it belongs to."""
import re

COLLECTIVES = (
    "Barrier|Bcast|Gatherv?|Scatterv?|Allgatherv?|Alltoall[vw]?|Allreduce|Reduce|Reduce_scatter"
    "|Reduce_scatter_block|Scan|Exscan|Neighbor_allgatherv?|Neighbor_alltoall[vw]?"
)

# The first that matches the whole name holds; `_c` is taken off before.
RULES = [
    ("TOOL_INFORMATION", r"MPI_T_.*|MPI_Pcontrol"),
    ("IO", r"MPIX?_File_.*|MPI_Register_datarep"),
    ("ONE_SIDED", r"MPIX?_Win_.*|MPI_R?(put|get|accumulate|get_accumulate)"),
    ("ONE_SIDED", r"MPI_(Fetch_and_op|Compare_and_swap)"),
    ("PROCESS", r"MPI_Comm_(accept|connect|disconnect|get_parent|join|spawn.*)"),
    ("PROCESS", r"MPI_(Open_port|Close_port|Lookup_name|Publish_name|Unpublish_name)"),
    ("TOPOLOGY", r"MPI_(Cart_.*|Cartdim_get|Graph_.*|Graphdims_get|Dist_graph_.*|Dims_create)"),
    ("TOPOLOGY", r"MPI_Topo_test"),
    ("COLLECTIVE", rf"MPI_I?({COLLECTIVES})|MPIX?_({COLLECTIVES})_init"),
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


def group_of(name: str) -> str:
    for group, pattern in RULES:
        if re.fullmatch(pattern, name.removesuffix("_c"), re.IGNORECASE):
            return group
    return "ENVIRONMENT"
