/* SPDX-License-Identifier: MIT */
/* See fault.h. */
#define _GNU_SOURCE
#include "validator/fault.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

static const struct qmpi_validate_host *host;

struct kind {
    const char *name; /* in the counts at the end of the job */
    const char *what; /* the text after `the layer `, in which %s stands for the function */
    const char *hint;
};

/* The compiler warns about a kind without a case. */
static struct kind describe_kind(enum fault_kind kind)
{
    switch (kind) {
    case FAULT_NOT_PASSED:
        return (struct kind){
            "next function not called",
            "does not call the next %s: the layers below and the MPI library miss the call",
            "return QMPIX_NEXT(context, NAME)(QMPIX_NEXT_CONTEXT(context), …), also in case of an "
            "error; PMPI_X would bypass the layers below. A tool that carries out calls itself "
            "declares that it provides \"changes-calls\" (QMPIX_Tool_declare)"};
    case FAULT_OTHER_FUNCTION:
        return (struct kind){
            "another function called instead", "calls another function instead of the next %s",
            "call the next function of the same name; a tool that replaces calls declares that it "
            "provides \"changes-calls\" (QMPIX_Tool_declare)"};
    case FAULT_TWICE:
        return (struct kind){"next function called more than once",
                             "calls the next %s more than once with the arguments of one call",
                             "call it once; a tool that repeats calls declares that it provides "
                             "\"changes-calls\" (QMPIX_Tool_declare)"};
    case FAULT_OTHER_THREAD:
        return (struct kind){
            "next function called in another thread",
            "calls the next %s in another thread than the one that called the layer",
            "call it in the interceptor itself, because MPI may not be thread-safe, and contexts, "
            "calling addresses and statuses belong to the thread"};
    case FAULT_OWN_CONTEXT:
        return (struct kind){
            "own context passed on", "passes its own context to the next %s",
            "pass QMPIX_NEXT_CONTEXT(context), or the context that QMPI_Get_function returned"};
    case FAULT_OTHER_CONTEXT:
        return (struct kind){
            "context of another function or layer passed on",
            "passes the context of another function or layer to the next %s",
            "pass QMPIX_NEXT_CONTEXT(context) of the interceptor's own context, or what "
            "QMPI_Get_function returned for the same function and the tool_id of the layer"};
    case FAULT_NO_CONTEXT:
        return (struct kind){
            "NULL or no context at all passed on", "passes what is no context to the next %s",
            "pass QMPIX_NEXT_CONTEXT(context) of the interceptor's own context, or the context "
            "that QMPI_Get_function returned; without validation, the program crashes here"};
    case FAULT_ARGUMENT:
        return (struct kind){
            "arguments changed", "changes arguments of %s",
            "pass all arguments on as they are; a tool that changes them declares that it provides "
            "\"changes-arguments\" (QMPIX_Tool_declare)"};
    case FAULT_RESULT:
        return (struct kind){
            "result changed", "returns another result of %s than the next function",
            "return what the next function returned; a tool that changes results declares that it "
            "provides \"changes-results\" (QMPIX_Tool_declare)"};
    case FAULT_OUTPUT:
        return (struct kind){
            "output changed or not set", "changes an output of %s, or does not set it",
            "copy what the next function has stored to the arguments of the caller; a tool that "
            "changes outputs declares that it provides \"changes-results\" (QMPIX_Tool_declare)"};
    case FAULT_RECURSION:
        return (struct kind){"MPI_X called", "calls %s, which enters the stack at the top again",
                             "call PMPI_X for needs of the tool, or QMPIX_NEXT(context, X) to let "
                             "the layers below see "
                             "the call"};
    case FAULT_AFTER_FINALIZE:
        return (struct kind){"MPI called after MPI_Finalize",
                             "calls %s after its MPI_Finalize has returned",
                             "do everything that needs MPI before the interceptor of MPI_Finalize "
                             "calls the next one"};
    case FAULT_COLLECTIVE:
        return (struct kind){"collective call on a communicator of the program",
                             "makes a collective call in %s, in which not all processes take part",
                             "communicate in MPI_Finalize, or in collective calls of the program, "
                             "on a communicator of "
                             "QMPIX_Tool_create_comm"};
    case FAULT_STDOUT:
        return (struct kind){
            "standard output written",
            "writes to the standard output in %s, which belongs to the program",
            "write to stderr or to a file, or with QMPIX_Standard_write if the user asks for it"};
    case FAULT_STORAGE:
        return (struct kind){
            "storage of another layer written", "writes to the storage of another layer in %s",
            "write only to what QMPI_Context_get_storage returns for the layer's own tool_id; a "
            "tool "
            "whose storage others may write declares that it provides \"shares-storage\" "
            "(QMPIX_Tool_declare)"};
    case FAULT_THREAD_LEVEL:
        return (struct kind){"thread level changed or not sufficient",
                             "changes the thread level in %s",
                             "pass the thread level on as it is, and call MPI only in the "
                             "interceptors, in the threads "
                             "of the program"};
    case FAULT_THREAD_LEFT:
        return (struct kind){"threads left running",
                             "starts a thread in %s that is still running when the process exits",
                             "end and join the thread in MPI_Finalize, before the next one is "
                             "called, or in the layer's finalizer"};
    case FAULT_OBJECT_LEFT:
        return (struct kind){"MPI objects not freed", "does not free what it has created by %s",
                             "free all objects of MPI in MPI_Finalize, before the next one is "
                             "called, or in the layer's finalizer"};
    case FAULT_REQUEST_LEFT:
        return (struct kind){"requests not completed",
                             "does not complete the request that it has created by %s",
                             "complete the request, or free it, in MPI_Finalize, before the next "
                             "one is called, or in the layer's finalizer"};
    case FAULT_COUNT:
        break;
    }
    return (struct kind){"", "", ""};
}

static bool found; /* any fault was found */

/* ---- Places in the tool ---------------------------------------------------------------------- */

const void *fault_find_call(int tool_id)
{
    enum { DEPTH = 64 };
    void *frames[DEPTH];
    const int count = host->unwind(frames, DEPTH);
    for (int i = 0; i < count; i++) {
        if (host->contains(tool_id, frames[i]))
            return frames[i];
    }
    return NULL;
}

/* Returns a line such as `  in my_Send (tool.c:12)`, or an empty text. */
static char *describe_place(const struct fault *fault)
{
    const void *address =
        fault->address || !fault->calls ? fault->address : fault_find_call(fault->tool_id);
    const QMPIX_Address *place;
    const char *code = !address && fault->context ? host->code(fault->context) : NULL;
    if (code) /* QMPIX_Address_describe describes the code in front of an address. */
        address = code + 1;
    if (address && (!host->contains(fault->tool_id, address) ||
                    QMPIX_Address_describe(address, &place) != MPI_SUCCESS))
        address = NULL;
    if (!address || !place->frame_count || !place->frames[0].function)
        return qmpi_copy("");
    const QMPIX_Frame *frame = &place->frames[0];
    return frame->file && frame->line
               ? qmpi_message("  in %s (%s:%d)\n", frame->function, frame->file, frame->line)
               : qmpi_message("  in %s\n", frame->function);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static const char *name_of(int tool_id)
{
    const char *name = "?";
    QMPIX_Tool_get_name(tool_id, &name);
    return name;
}

/* Returns `, rank N`, or an empty text. */
static char *describe_rank(void)
{
    const int rank = qmpi_launcher_rank();
    return rank < 0 ? qmpi_copy("") : qmpi_format(", rank %d", rank);
}

static void print_first(const struct fault *fault)
{
    const struct kind kind = describe_kind(fault->kind);
    char *rank = describe_rank(), *place = describe_place(fault);
    char *name = qmpi_format("%s", fault->function->name);
    char *usual = qmpi_copy(kind.what), *mark = strstr(usual, "%s");
    char *what = fault->detail
                     ? qmpi_copy(fault->detail)
                     : qmpi_format("%.*s%s%s", (int)(mark - usual), usual, name, mark + 2);
    char *text =
        qmpi_message("validation: layer %d (%s), %s%-s: the layer %-s\n%-s  hint: %-s",
                     fault->tool_id, name_of(fault->tool_id), name, rank, what, place, kind.hint);
    host->print(text);
    free(text);
    free(what);
    free(usual);
    free(name);
    free(place);
    free(rank);
}

void fault_report(const struct fault *fault)
{
    const char *const name = name_of(fault->tool_id);
    found = true;
    if (!job_count(fault->tool_id, name, (int)fault->kind, (int)fault->function->number))
        return;
    print_first(fault);
    job_set_reported(fault->tool_id, name, (int)fault->kind);
}

/* Returns a text that tells how often a fault occurred, such as `3 calls of MPI_Send, 1 of
 * MPI_Recv`. */
static char *list_counts(const unsigned *of_kind)
{
    enum { NAMED = 6 };
    char *list = qmpi_copy("");
    int functions = 0;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (!of_kind[number] || functions++ >= NAMED)
            continue;
        char *longer = qmpi_format("%s%s%u %sof %s", list, *list ? ", " : "", of_kind[number],
                                   *list                  ? ""
                                   : of_kind[number] == 1 ? "call "
                                                          : "calls ",
                                   QMPIX_Function_name((enum QMPI_Functions_enum)number));
        free(list);
        list = longer;
    }
    if (functions > NAMED) {
        char *longer = qmpi_format("%s, and some of %d other functions", list, functions - NAMED);
        free(list);
        list = longer;
    }
    return list;
}

void fault_print_counts(const struct job_faults *faults)
{
    char *list = list_counts(faults->calls);
    char *text =
        qmpi_message("validation: layer %d (%s)%-s: %s: %-s", faults->tool_id, faults->name,
                     faults->ranks, describe_kind((enum fault_kind)faults->kind).name, list);
    host->print(text);
    free(text);
    free(list);
}

bool fault_was_found(void)
{
    return found;
}

void fault_start(const struct qmpi_validate_host *given)
{
    host = given;
    job_start(FAULT_COUNT);
}
