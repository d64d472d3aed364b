# SPDX-License-Identifier: MIT
"""Writes the observers: a wrapper for each function, and descriptions of each function and its
parameters."""
import re
from collections.abc import Iterable

from emit_c import ENTER_FRAME, GENERATED, LICENCE, Source, arguments, attribute, collect, parameters, part_of
from mpi_header import Function, Parameter
from semantics import SHAPES, Meaning, constants_of, extent_of, gets_status, group_of, meaning_of

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
PREFIXES = {  # prefixes of the functions -> names of their tables
    "observe": "qmpi_observing",
    "enter_observe": "qmpi_observing_first",
}
WORDS = Parameter("words", "QMPIX_Pcontrol_words qmpi_words", "QMPIX_Pcontrol_words")


def parameters_of(function: Function) -> list[Parameter]:
    return function.parameters + ([WORDS] if function.variadic else [])


def describe(parameter: Parameter) -> tuple[str, int, int, int, str]:
    """Returns the kind, indirection, is_array, is_const, and the size as a C expression."""
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


def observe_function(function: Function, prefix: str) -> str:
    """Writes observe_X, or enter_observe_X for the first node of a chain."""
    enters = prefix == "enter_observe"
    meaning = meaning_of(function)
    number = function.constant
    places = [f"&{parameter.name}" for parameter in function.parameters]
    places += ["&qmpi_words"] if function.variadic else []
    head = f"{attribute(function)}{function.result} "
    name = f"{prefix}_{function.name}"
    if enters:
        lines = [
            f"QMPI_TRAMPOLINE {head}QMPI_ENTERED({name})({parameters(function)})", "{", ENTER_FRAME,
            "    const struct qmpi_record_head *const qmpi_head =",
            f"        (const struct qmpi_record_head *)qmpi_node_trampolines[{number}];",
            "    const QMPIX_Observer *const qmpi_observer = qmpi_head->observer;",
        ]
    else:
        lines = [
            f"{head}{name}({parameters(function, 'QMPI_Context qmpi_context')})", "{",
            "    const QMPIX_Observer *const qmpi_observer = qmpi_record_observer(qmpi_context);",
        ]
    if function.variadic:
        lines.append(collect(function).rstrip("\n"))
    if gets_status(meaning):
        lines += [
            "    MPI_Status qmpi_status;",
            "    if (status == MPI_STATUS_IGNORE && "
            "(qmpi_observer->flags & QMPIX_OBSERVE_STATUSES))",
            "        status = memset(&qmpi_status, 0, sizeof qmpi_status);",
        ]
    statuses = meaning.roles.get("statuses", -1) if meaning.shape == "COMPLETE" else -1
    if statuses >= 0:
        given = function.parameters[statuses].name
        count = function.parameters[meaning.roles["requests"]].name
        lines += [
            "    struct qmpi_requests_statuses qmpi_requests_statuses;",
            f"    {given} = qmpi_requests_give_statuses(&qmpi_requests_statuses, qmpi_observer, {count}, {given});",
        ]
    if places:
        lines.append(f"    const void *const qmpi_arguments[] = {{{', '.join(places)}}};")
    lines.append("    struct qmpi_record qmpi_record;")
    if enters:
        lines.append("    qmpi_record_start(&qmpi_record, qmpi_head);")
    else:
        lines += [f"    qmpi_record.call.function = &qmpi_described[{number}];",
                  "    qmpi_record.call.context = qmpi_context;",
                  "    qmpi_record.call.observer = qmpi_observer;"]
    lines += [f"    qmpi_record.call.arguments = {'qmpi_arguments' if places else 'NULL'};",
              "    qmpi_record_clear(&qmpi_record);"]
    opening, closing = [], []
    if meaning.shape == "COMPLETE":
        request = function.parameters[meaning.roles["request"]].name
        count = "1"
        if "requests" in meaning.roles:
            count = function.parameters[meaning.roles["requests"]].name
        lines.append("    struct qmpi_requests_before qmpi_requests_before;")
        opening.append(f"    qmpi_requests_save(&qmpi_requests_before, &qmpi_record.call, {count}, {request});")
        closing.append("    qmpi_requests_drop(&qmpi_requests_before);")
    if statuses >= 0:
        closing.append("    qmpi_requests_drop_statuses(&qmpi_requests_statuses);")
    if meaning.shape == "MATCHED_RECEIVE":
        opening.append("    qmpi_record.matched = qmpi_requests_find_message(message);")
        closing.append("    qmpi_requests_forget_message(&qmpi_record.matched);")
    if meaning.rule.role == "FINALIZE":
        opening.append("    qmpi_clock_finish_offsets();")
    lines += opening + ["    qmpi_observer->before(&qmpi_record.call, qmpi_record.words);"]
    if meaning.rule.role == "REQUEST_FREE":
        lines.append("    qmpi_requests_forget_persistent(request);")
    lines += [
        "    const QMPI_Context qmpi_next = qmpi_record.call.context->next;",
        f"    {function.result} const qmpi_result =",
        f"        ((QMPI_{function.short}_t *)qmpi_next->function)({arguments(function, 'qmpi_next')});",
        "    qmpi_record.call.result = &qmpi_result;",
    ]
    if meaning.persistent:
        lines.append("    qmpi_requests_add_persistent(&qmpi_record.call);")
    if meaning.shape == "MATCHED_PROBE":
        lines.append("    qmpi_requests_add_message(&qmpi_record.call);")
    if meaning.rule.role == "WIN_CREATE":
        lines.append("    qmpi_comm_add_window(&qmpi_record.call);")
    # Reads the observer from the frame: a register kept over the call would cost a push, a pop and
    # two moves.
    lines += [
        "    qmpi_record.call.observer->after(QMPI_ADDRESS(QMPIX_Call, qmpi_record.call),",
        "        QMPI_ADDRESS(QMPIX_Word, qmpi_record.words[0]));",
    ]
    return "\n".join(lines + closing + ["    return qmpi_result;", "}", ""])


def observe(source: Source, part: int) -> str:
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * observe_X and enter_observe_X: the interceptors of layers that observe MPI_X; see observe/record.h. */\n"
        '#include "clock/clock.h"\n#include "observe/comms.h"\n#include "observe/observe.h"\n#include "observe/requests.h"\n\n'
        "#include <string.h>\n\n"
        '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n'
        '#pragma GCC diagnostic ignored "-Wmissing-prototypes"\n'
        "/* Packing pairs of pointers into vector registers costs more than it saves here, as does padding. */\n"
        "#ifndef __clang__\n"
        '#pragma GCC optimize("no-tree-slp-vectorize", "no-align-loops")\n'
        "#endif\n\n"
    )
    for function in part_of(source.functions, part):
        for prefix in PREFIXES:
            text += observe_function(function, prefix) + "\n"
    return text


def observing(source: Source) -> str:
    text = f"/* {LICENCE} */\n/* {GENERATED} */\n"
    text += '#include "observe/record.h"\n\n'
    for prefix, table in PREFIXES.items():
        for function in source.functions:
            text += f"extern qmpi_function {prefix}_{function.name} QMPI_HIDDEN;\n"
        text += f"\nqmpi_function *const {table}[QMPI_FUNCTION_COUNT] = {{\n"
        for function in source.functions:
            text += f"    [{function.constant}] = {prefix}_{function.name},\n"
        text += "};\n"
    return text


def checked(source: Source) -> str:
    """Functions that layers call if they are validated (lib/validator). The context may have any value."""
    text = (
        f"/* {LICENCE} */\n/* {GENERATED}\n"
        " * checked_X: calls observe_X with the context that context_check returns; see validator/context.h. */\n"
        '#include "validator/context.h"\n\n'
        '#pragma GCC diagnostic ignored "-Wdeprecated-declarations"\n\n'
    )
    for function in source.functions:
        text += (
            f"{attribute(function)}static {function.result} checked_{function.name}"
            f"({parameters(function, 'QMPI_Context qmpi_context')})\n"
            "{\n"
            f"{collect(function)}"
            f"    qmpi_context = context_check(qmpi_context, {function.constant});\n"
            f"    return ((QMPI_{function.short}_t *)context_observing[{function.constant}])"
            f"({arguments(function, 'qmpi_context')});\n"
            "}\n\n"
        )
    text += "qmpi_function *const context_checked[QMPI_FUNCTION_COUNT] = {\n"
    for function in source.functions:
        text += f"    [{function.constant}] = (qmpi_function *)checked_{function.name},\n"
    return text + "};\n"


class Pool:
    """A pool of strings, in which equal ones are stored once."""

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


def find_list(entries: tuple[str, ...], packed: list[str]) -> int:
    """Returns the position of a list within another one; -1: it is not contained."""
    count = len(entries)
    return next((place for place in range(len(packed) - count + 1)
                 if tuple(packed[place:place + count]) == entries), -1)


def pack(lists: Iterable[tuple[str, ...]]) -> tuple[list[str], dict[tuple[str, ...], int]]:
    """Returns one list that contains all the given lists, and their positions in it. The longest
    ones are added first, because others may be contained in them."""
    packed, places = [], {}
    for entries in sorted(set(lists), key=lambda entries: (-len(entries), entries)):
        places[entries] = find_list(entries, packed)
        if places[entries] < 0:
            places[entries] = len(packed)
            packed += entries
    return packed, places


def traits_of(meaning: Meaning) -> str:
    """Returns the members of QMPIX_Traits that are not arguments and are not 0."""
    rule = meaning.rule
    members = [f".flags = {' | '.join(f'QMPIX_TRAIT_{flag}' for flag in meaning.flags)}"] if meaning.flags else []
    members += [f".{member} = QMPIX_{member.upper()}_{value}" for member, value in
                {"role": rule.role, "collective": rule.collective, "flow": rule.flow, "access": rule.access}.items()
                if value != "NONE"]
    return "".join(f", {member}" for member in members)


def description(source: Source) -> str:
    """The tables contain no pointers, so that they need no relocations in processes that observe
    nothing."""
    pool = Pool()
    entries_of = {}
    for function in source.functions:
        entries = []
        for parameter in parameters_of(function):
            kind, indirection, is_array, is_const, size = describe(parameter)
            constants = "NONE" if parameter is WORDS else constants_of(function, parameter)
            direction, length, of = ("IN", "ONE", -1) if parameter is WORDS else extent_of(function, parameter)
            entries.append(
                f"    {{{pool.place(parameter.name)}, {pool.place(parameter.type)}, "
                f"QMPIX_KIND_{kind}, {indirection}, {is_array}, {is_const}, "
                f"QMPIX_CONSTANTS_{constants}, QMPIX_DIRECTION_{direction}, QMPIX_LENGTH_{length}, {of}, {size}}},"
            )
        entries_of[function.name] = tuple(entries)
    packed, places = pack(entries_of.values())
    functions, meanings = [], []
    for function in source.functions:
        entries = entries_of[function.name]
        result = KINDS.get(function.result, "OTHER")
        functions.append(
            f"    [{function.constant}] = {{QMPIX_GROUP_{group_of(function.name)}, "
            f"QMPIX_KIND_{result}, {places[entries]}, {len(entries)}}},"
        )
        meaning = meaning_of(function)
        roles = "".join(f", .{role} = {place + 1}" for role, place in meaning.roles.items())
        meanings.append(f"    [{function.constant}] = {{.shape = QMPI_SHAPE_{meaning.shape}{traits_of(meaning)}{roles}}},")
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */", '#include "observe/semantics.h"', "",
             '#pragma GCC diagnostic ignored "-Woverlength-strings"', "",
             "const char qmpi_description_strings[] ="]
    lines += pool.lines()
    lines[-1] += ";"
    lines += ["", "const struct qmpi_semantics_parameter qmpi_packed_parameters[] = {"] + packed
    lines += ["};", f"const int qmpi_packed_parameter_count = {len(packed)};", "",
              "const struct qmpi_semantics_function qmpi_packed_functions[QMPI_FUNCTION_COUNT] = {"]
    lines += functions + ["};", "", "const struct qmpi_semantics qmpi_meanings[QMPI_FUNCTION_COUNT] = {"]
    return "\n".join(lines + meanings + ["};", ""])


def shapes(source: Source) -> str:
    del source
    lines = [f"/* {LICENCE} */", f"/* {GENERATED} */", "/* See observe/semantics.h. */", "enum qmpi_shape {",
             "    QMPI_SHAPE_NONE,"]
    return "\n".join(lines + [f"    QMPI_SHAPE_{shape}," for shape in SHAPES] +
                     ["    QMPI_SHAPE_COUNT", "};", ""])
