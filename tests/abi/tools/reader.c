/* SPDX-License-Identifier: MIT */
/*
 * A tool that is compiled for the standard ABI, and prints the values that it reads from each call.
 * They are values of this ABI, so the output is the same for all MPI libraries.
 */
#define _GNU_SOURCE
#include <qmpi/observer.h>

#include <stdio.h>
#include <string.h>

/* The number of elements of arrays of handles in the programs of these tests. */
enum { ELEMENTS = 2 };

static void add_handle(FILE *out, const char *name, MPI_Comm handle)
{
    const size_t bits = (size_t)handle;
    if (bits < 0x1000)
        fprintf(out, " %s=%#zx", name, bits);
    else
        fprintf(out, " %s=other", name);
}

static void add_address(FILE *out, const QMPIX_Parameter *parameter, const void *address)
{
    if ((size_t)address < 0x1000)
        fprintf(out, " %s=address%zu", parameter->name, (size_t)address);
}

static void add_status(FILE *out, const QMPIX_Call *call, int place)
{
    MPI_Status status;
    int count = -1, cancelled = -1, again = -1;
    MPI_Count bytes = -1;
    if (QMPIX_Call_get_elements(call, place, 0, 1, &status) != MPI_SUCCESS)
        return;
    PMPI_Get_count(&status, MPI_INT, &count);
    PMPI_Test_cancelled(&status, &cancelled);
    fprintf(out, " status={%d %d %d cancelled=%d}", status.MPI_SOURCE, status.MPI_TAG, count,
            cancelled);
    if (QMPIX_Call_get_status_bytes(call, place, 0, &bytes) == MPI_SUCCESS)
        fprintf(out, " bytes=%lld", (long long)bytes);
    /* PMPI_Get_count must also return a number that the tool has set in its copy of the status. */
    PMPI_Status_set_elements(&status, MPI_INT, 77);
    PMPI_Get_count(&status, MPI_INT, &again);
    if (again != 77)
        fprintf(out, " (count %d)", again);
}

static void add_elements(FILE *out, const QMPIX_Call *call, int place)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[place];
    const int count = parameter->is_array && parameter->kind != QMPIX_KIND_INT ? ELEMENTS : 1;
    MPI_Comm handles[ELEMENTS];
    int numbers[ELEMENTS];
    if (parameter->kind == QMPIX_KIND_STATUS) {
        add_status(out, call, place);
    } else if (parameter->kind >= QMPIX_KIND_COMM && parameter->kind <= QMPIX_KIND_WIN) {
        if (QMPIX_Call_get_elements(call, place, 0, count, handles) == MPI_SUCCESS)
            for (int i = 0; i < count; i++)
                add_handle(out, parameter->name, handles[i]);
    } else if (parameter->kind == QMPIX_KIND_INT) {
        if (QMPIX_Call_get_elements(call, place, 0, count, numbers) == MPI_SUCCESS)
            for (int i = 0; i < count; i++)
                fprintf(out, " %s=%d", parameter->name, numbers[i]);
    }
}

static void add_argument(FILE *out, const QMPIX_Call *call, int place)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[place];
    MPI_Comm handle;
    void *address;
    int number;
    if (parameter->indirection) {
        QMPIX_Call_get_argument(call, place, &address);
        add_address(out, parameter, address);
        if (call->result)
            add_elements(out, call, place);
    } else if (parameter->kind >= QMPIX_KIND_COMM && parameter->kind <= QMPIX_KIND_WIN) {
        QMPIX_Call_get_argument(call, place, &handle);
        add_handle(out, parameter->name, handle);
    } else if (parameter->kind == QMPIX_KIND_INT) {
        QMPIX_Call_get_argument(call, place, &number);
        fprintf(out, " %s=%d", parameter->name, number);
    }
}

static void add_meaning(FILE *out, const QMPIX_Call *call)
{
    int peer, world, tag, root;
    MPI_Comm comm;
    if (QMPIX_Call_get_peer(call, &peer, &world, &tag) == MPI_SUCCESS)
        fprintf(out, "; peer %d world %d tag %d", peer, world, tag);
    if (QMPIX_Call_get_root(call, &root) == MPI_SUCCESS)
        fprintf(out, "; root %d", root);
    if (QMPIX_Call_get_comm(call, &comm) == MPI_SUCCESS)
        add_handle(out, "; comm", comm);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    char text[2048] = "";
    int result = 0, class = 0;
    (void)word;
    if (call->function->number == MPI_FINALIZE_T)
        return;
    FILE *out = fmemopen(text, sizeof text, "w");
    for (int i = 0; i < call->function->parameter_count; i++)
        add_argument(out, call, i);
    add_meaning(out, call);
    if (QMPIX_Call_get_result(call, &result) == MPI_SUCCESS && result != MPI_SUCCESS) {
        PMPI_Error_class(result, &class);
        fprintf(out, "; error %d", class);
    }
    fclose(out);
    fprintf(stderr, "reader: %s%s\n", call->function->name, text);
}

/* Prints the error classes of calls with wrong arguments, which must be those of the ABI. */
static void report(int tool_id)
{
    int peer;
    fprintf(stderr, "reader: wrong tool_id is error %d\n",
            QMPIX_Tool_get_option(tool_id + 100, "x", NULL));
    fprintf(stderr, "reader: no call is error %d\n", QMPIX_Call_get_root(NULL, &peer));
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {
        .size = sizeof observer, .after = after, .flags = QMPIX_OBSERVE_REQUESTS};
    QMPIX_Register_tool_observer(tool_id, &observer);
    report(tool_id);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("reader", init);
}
