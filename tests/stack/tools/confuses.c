/* SPDX-License-Identifier: MIT */
/*
 * Counts calls in the storage of a layer, but keeps the tool_id in a variable that all layers
 * share, so that both layers of `confuses:confuses` count in the same storage. Options:
 *   own=yes      each layer counts in its own storage
 *   static=yes   the storage is in a static variable instead of on the heap
 *   shares=yes   the tool declares that its layers share their storage
 */
#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

static int last_id;
static int own;

struct layer {
    long long calls, more;
};
static struct layer variable[8];

static int my_Comm_rank(QMPI_Context c, MPI_Comm comm, int *rank)
{
    void *storage = NULL;
    int tool_id = last_id;
    if (own)
        QMPIX_Context_get_tool_id(c, &tool_id);
    if (QMPI_Context_get_storage(c, tool_id, &storage) == MPI_SUCCESS)
        ((struct layer *)storage)->calls++;
    return QMPIX_NEXT(c, Comm_rank)(QMPIX_NEXT_CONTEXT(c), comm, rank);
}

static int is_given(int tool_id, const char *option)
{
    const char *value = NULL;
    return QMPIX_Tool_get_option(tool_id, option, &value) == MPI_SUCCESS && value &&
           !strcmp(value, "yes");
}

static void init(int tool_id)
{
    struct layer *layer = &variable[tool_id];
    last_id = tool_id;
    own = is_given(tool_id, "own");
    if (!is_given(tool_id, "static"))
        layer = calloc(1, sizeof *layer);
    if (!layer)
        abort();
    if (is_given(tool_id, "shares")) {
        static const char *const names[] = {"shares-storage", NULL};
        QMPIX_Tool_declare(tool_id, 0, names, NULL);
    }
    QMPI_Register_tool_storage(tool_id, layer);
    QMPIX_REGISTER(tool_id, Comm_rank, my_Comm_rank);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("confuses", init);
}
