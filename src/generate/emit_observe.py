# SPDX-License-Identifier: MIT
"""Observers: one wrapper for each function, and what each function and its parameters are."""
import re

from emit_c import GENERATED, LICENCE, Source, arguments, attribute, collect, parameters, part_of
from groups import group_of
from semantics import SHAPES, gets_status, meaning_of
from mpi_header import Function, Parameter

KINDS = {
    "int": "INT", "MPI_T_cb_safety": "INT", "MPI_T_source_order": "INT",
    "MPI_Aint": "AINT", "MPI_Count": "COUNT", "MPI_Offset": "OFFSET", "MPI_Fint": "FINT",
    "double": "DOUBLE", "char": "CHAR", "void": "BUFFER", "MPI_Status": "STATUS",
    "MPI_Comm": "COMM", "MPI_Datatype": "DATATYPE", "MPI_Errhandler": "ERRHANDLER",
    "MPI_File": "FILE", "MPI_Group": "GROUP", "MPI_Info": "INFO", "MPI_Message": "MESSAGE",
    "MPI_Op": "OP", "MPI_Request": "REQUEST", "MPI_Session": "SESSION", "MPI_Win": "WIN",
    "MPI_T_enum": "T_ENUM", "MPI_T_cvar_handle": "T_CVAR_HANDLE",
    "MPI_T_pvar_handle": "T_PVAR_HANDLE", "MPI_T_pvar_session": "T_PVAR_SESSION",
    "MPI_T_event_registration": "T_EVENT", "MPI_T_event_instance": "T_EVENT",
}
WORDS = Parameter("words", "QMPIX_Pcontrol_words qmpi_words", "QMPIX_Pcontrol_words")


def parameters_of(function: Function) -> list[Parameter]:
    return function.parameters + ([WORDS] if function.variadic else [])


def describe(parameter: Parameter) -> tuple[str, int, int, int, str]:
    """Kind, indirection, is_array, is_const and the size as a C expression."""
    text = parameter.type
    if parameter is WORDS:
        return "PCONTROL_WORDS", 0, 0, 0, "sizeof(QMPIX_Pcontrol_words)"
    base = re.match(r"(?:const )?(\w+)", text)[1]
    if "_function" in base:
        return "FUNCTION", 0, 0, 0, "sizeof(void *)"
    dimension = re.search(r"\[(\d+)\]$", text)
    pointers = text.count("*") + len(re.findall(r"\[\]", text))
    kind = KINDS.get(base, "OTHER")
    size = "0" if base == "void" or (kind == "OTHER" and pointers) else f"sizeof({base}"
    if size != "0":
        size += f"[{dimension[1]}])" if dimension else ")"
    return kind, pointers, int("[]" in text), int(text.startswith("const") and pointers > 0), size


def observe_function(function: Function, run: bool) -> str:
    """observe_X for a layer alone, or observe_run_X for a run of layers."""
    meaning = meaning_of(function)
    number = function.constant
    places = [f"&{parameter.name}" for parameter in function.parameters]
    places += ["&qmpi_words"] if function.variadic else []
    lines = [
        f"{attribute(function)}{function.result} observe_{'run_' if run else ''}{function.name}"
        f"({parameters(function, 'QMPI_Context qmpi_context')})",
        "{",
        "    const QMPIX_Observer *const qmpi_observer = qmpi_observer_of(qmpi_context);",
    ]
    if run:
        lines.append("    const struct qmpi_run *const qmpi_run = qmpi_run_of(qmpi_observer);")
    if function.variadic:
        lines.append(collect(function).rstrip("\n"))
    if gets_status(function, meaning):
        lines += [
            "    MPI_Status qmpi_status;",
            "    if (status == MPI_STATUS_IGNORE && "
            "(qmpi_observer->flags & QMPIX_OBSERVE_STATUSES))",
            "        status = memset(&qmpi_status, 0, sizeof qmpi_status);",
        ]
    statuses = meaning.roles.get("statuses", -1)
    if statuses >= 0:
        given = function.parameters[statuses].name
        count = function.parameters[meaning.roles["requests"]].name
        lines += [
            "    struct qmpi_statuses qmpi_statuses;",
            f"    {given} = qmpi_statuses_give(&qmpi_statuses, qmpi_observer, {count}, {given});",
        ]
    if places:
        lines.append(f"    const void *const qmpi_arguments[] = {{{', '.join(places)}}};")
    frame = "qmpi_observed" + ("_run" if run else "") + (
        "_message" if meaning.shape == "MATCHED_RECEIVE" else "")
    members = {"function": f"&qmpi_described[{number}]",
               "arguments": "qmpi_arguments" if places else "NULL"}
    if not run or meaning.shape == "COMPLETE":  # otherwise, the callbacks of a run set them
        members |= {"context": "qmpi_context", "observer": "qmpi_observer"}
    if run:
        members |= {"result": "NULL", "requests": "NULL", "request_count": "0"}
        lines.append(f"    struct {frame} qmpi_frame;")
        lines += [f"    qmpi_frame.call.{name} = {value};" for name, value in members.items()]
        lines.append("    qmpi_run_clear(qmpi_frame.words);")
        kind = "completing" if meaning.shape == "COMPLETE" else "plain"
        before, after = (
            f"qmpi_run_{kind}(&qmpi_run->{which}, &qmpi_frame.call, qmpi_frame.words);"
            for which in ("before", "after"))
        next_node = "qmpi_run->next"
    else:
        values = ", ".join(f".{name} = {value}" for name, value in members.items())
        lines.append(f"    struct {frame} qmpi_frame = {{.call = {{{values}}}}};")
        before = "qmpi_observer->before(&qmpi_frame.call, qmpi_frame.words);"
        # From the frame, not from a register kept over the call: that costs a push, a pop and two
        # moves.
        after = (
            "qmpi_frame.call.observer->after(QMPI_ADDRESS(QMPIX_Call, qmpi_frame.call),\n"
            "        QMPI_ADDRESS(QMPIX_Word, qmpi_frame.words[0]));"
        )
        next_node = "qmpi_frame.call.context->next"
    opening, closing = [], []
    if meaning.shape == "COMPLETE":
        request = function.parameters[meaning.roles["request"]].name
        count = "1"
        if "requests" in meaning.roles:
            count = function.parameters[meaning.roles["requests"]].name
        lines.append("    struct qmpi_saved_requests qmpi_saved_requests;")
        opening.append(f"    qmpi_requests_save(&qmpi_saved_requests, &qmpi_frame.call, {count}, {request});")
        closing.append("    qmpi_requests_drop(&qmpi_saved_requests);")
    if statuses >= 0:
        closing.append("    qmpi_statuses_drop(&qmpi_statuses);")
    if meaning.shape == "MATCHED_RECEIVE":
        opening.append("    qmpi_frame.matched = qmpi_messages_find(message);")
        closing.append("    qmpi_messages_forget(&qmpi_frame.matched);")
    lines += opening + [f"    {before}"]
    if function.name == "MPI_Request_free":
        lines.append("    qmpi_persistent_forget(request);")
    lines += [
        f"    const {function.result} qmpi_result =",
        f"        ((QMPI_{function.short}_t *){next_node}->function)"
        f"({arguments(function, next_node)});",
        "    qmpi_frame.call.result = &qmpi_result;",
    ]
    if meaning.persistent:
        lines.append("    qmpi_persistent_note(&qmpi_frame.call);")
    if meaning.shape == "MATCHED_PROBE":
        lines.append("    qmpi_messages_note(&qmpi_frame.call);")
    lines += [f"    {after}"] + closing + ["    return qmpi_result;", "}", ""]
    return "\n".join(lines)


def observe(source: Source, part: int) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * observe_X and observe_run_X: the interceptors of layers that observe MPI_X; see observe.h. */\n"
        '#include "observe/messages.h"\n#include "observe/observe.h"\n#include "observe/persistent.h"\n#include "observe/requests.h"\n#include "observe/run.h"\n\n'
        "#include <string.h>\n\n"
        '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n'
        '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n'
        "/* Packing pairs of pointers into vector registers costs more than it saves here, as does padding. */\n"
        "#ifndef __clang__\n"
        '#pragma GCC optimize("no-tree-slp-vectorize", "no-align-loops")\n'
        "#endif\n\n"
    )
    for function in part_of(source.functions, part):
        text += observe_function(function, run=False) + "\n"
        text += observe_function(function, run=True) + "\n"
    return text


def observing(source: Source) -> str:
    text = f"/* {LICENCE} */\n/* {GENERATED} */\n"
    text += '#include "observe/record.h"\n\n'
    for table, prefix in (("qmpi_observing", "observe"), ("qmpi_observing_runs", "observe_run")):
        for function in source.functions:
            text += f"extern qmpi_function {prefix}_{function.name} QMPI_HIDDEN;\n"
        text += f"\nqmpi_function *const {table}[QMPI_FUNCTION_COUNT] = {{\n"
        for function in source.functions:
            text += f"    [{function.constant}] = {prefix}_{function.name},\n"
        text += "};\n"
    return text


class Pool:
    """Strings, one after the other; equal ones once."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.length = 0

    def place(self, text: str) -> int:
        if text not in self.places:
            self.places[text] = self.length
            self.length += len(text) + 1
        return self.places[text]

    def lines(self) -> list[str]:
        return [f'    "{text}\\0"' for text in self.places]


def description(source: Source) -> str:
    """Without pointers, so that a process that observes nothing pays no relocations for it."""
    pool = Pool()
    lists: dict[tuple, int] = {}
    packed, functions, meanings = [], [], []
    for function in source.functions:
        entries = []
        for parameter in parameters_of(function):
            kind, indirection, is_array, is_const, size = describe(parameter)
            entries.append(
                f"    {{{pool.place(parameter.name)}, {pool.place(parameter.type)}, "
                f"QMPIX_KIND_{kind}, {indirection}, {is_array}, {is_const}, {size}}},"
            )
        key = tuple(entries)
        if key not in lists:
            lists[key] = len(packed)
            packed += entries
        result = KINDS.get(function.result, "OTHER")
        functions.append(
            f"    [{function.constant}] = {{QMPIX_GROUP_{group_of(function.name)}, "
            f"QMPIX_KIND_{result}, {lists[key]}, {len(entries)}}},"
        )
        meaning = meaning_of(function)
        roles = "".join(f", .{role} = {place + 1}" for role, place in meaning.roles.items())
        flags = (", .immediate = 1" if meaning.immediate else "") + (
            ", .persistent = 1" if meaning.persistent else "")
        if meaning.shape != "NONE" or roles or flags:
            meanings.append(
                f"    [{function.constant}] = {{.shape = QMPI_SHAPE_{meaning.shape}{flags}{roles}}},"
            )
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */", '#include "observe/descriptions.h"',
             '#include "observe/semantics.h"', "",
             '#pragma GCC diagnostic ignored "-Woverlength-strings"', "",
             "const char qmpi_description_strings[] ="]
    lines += pool.lines()
    lines[-1] += ";"
    lines += ["", "const struct qmpi_packed_parameter qmpi_packed_parameters[] = {"] + packed
    lines += ["};", f"const int qmpi_packed_parameter_count = {len(packed)};", "",
              "const struct qmpi_packed_function qmpi_packed_functions[QMPI_FUNCTION_COUNT] = {"]
    lines += functions + ["};", "", "const struct qmpi_meaning qmpi_meanings[QMPI_FUNCTION_COUNT] = {"]
    return "\n".join(lines + meanings + ["};", ""])


def shapes(source: Source) -> str:
    del source
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */", "/* See observe/semantics.h. */", "enum qmpi_shape {",
             "    QMPI_SHAPE_NONE,"]
    return "\n".join(lines + [f"    QMPI_SHAPE_{shape}," for shape in SHAPES] + ["};", ""])
