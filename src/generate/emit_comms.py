# SPDX-License-Identifier: MIT
"""Writes wrappers that record how communicators are created: see observe/comms.h."""
import re

from emit_c import GENERATED, LICENCE, Source, arguments, parameters
from mpi_header import Function
from semantics import rule_of

def created_by(function: Function) -> str:
    return next(each.name for each in function.parameters if re.match(r"MPI_Comm ?\*$", each.type))


def note_of(function: Function) -> str:
    """Returns the call that records how a function created a communicator; empty if this is not recorded."""
    creation = rule_of(function.name).creation
    if not creation or not function.name.startswith("MPI_"):
        return ""
    given = [each.name for each in function.parameters if each.type == "MPI_Comm"]
    if creation in ("COPY", "PART"):
        return f"qmpi_comm_id_note_{creation.lower()}({given[0]}, *{created_by(function)});"
    # There is no parent if the function has no communicator as input, or two of them: these are the two sides of an
    # intercommunicator.
    parent = given[0] if len(given) == 1 else "MPI_COMM_NULL"
    tag = next(each for each in function.parameters if each.name in ("tag", "stringtag"))
    number = f"qmpi_comm_id_of_text({tag.name})" if "char" in tag.type else f"(uint64_t){tag.name}"
    return f"qmpi_comm_id_note_group({parent}, *{created_by(function)}, {number});"


def follow_function(function: Function, note: str) -> str:
    created = created_by(function)
    lines = [f"static {function.result} follow_{function.name}({parameters(function)})", "{"]
    if "_idup" in function.name:
        # Some MPI libraries store the handle only when the copy is complete. Until then, the id is unknown, which
        # MPI_COMM_NULL shows.
        lines += [f"    if ({created} && qmpi_comm_id_asked)", f"        *{created} = MPI_COMM_NULL;"]
    lines += [
        f"    const {function.result} qmpi_result =",
        f"        QMPI_PMPI({function.name.removeprefix('MPI_')}, {function.constant[4:-2]})({arguments(function)});",
        "    if (qmpi_result == MPI_SUCCESS && qmpi_comm_id_asked)",
        f"        {note}",
        "    return qmpi_result;",
        "}",
        "",
    ]
    return "\n".join(lines)


def creators(source: Source) -> str:
    notes = [(function, note) for function in source.functions if (note := note_of(function))]
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * follow_X: wrappers of the functions that create communicators; see observe/comms.h. */\n"
        '#include "observe/comms.h"\n#include "observe/observe.h"\n\n'
    )
    for function, note in notes:
        text += follow_function(function, note) + "\n"
    text += "void qmpi_observe_creators(qmpi_function **terminators)\n{\n"
    for function, _ in notes:
        text += f"    terminators[{function.constant}] = (qmpi_function *)follow_{function.name};\n"
    return text + "}\n"
