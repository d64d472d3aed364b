/* SPDX-License-Identifier: MIT */
/*
 * The tool `cross` for the program that calls every entry (tests/generate/every_entry.c). In one
 * layer, it intercepts the functions that have a number in MPICH's variant through the calls of
 * that variant, and all other functions natively. This file does not include the headers of
 * qmpi, just as tools of the variant do not.
 */
#include "cross_entry.h"

#include "pcontrol_words.h"

#include <stdarg.h>

struct cross_next cross_arrive(int tool_id, enum QMPI_Functions_enum number, const char *name)
{
    struct cross_next next = {NULL, -1};
    witness_arrive(tool_id, name);
    if (QMPI_Get_function(tool_id, number, &next.function, &next.tool_id) != MPI_SUCCESS)
        witness_wrong("layer %d finds no next function", tool_id);
    else if (next.tool_id != 0 && next.tool_id <= tool_id)
        witness_wrong("layer %d goes on to %d", tool_id, next.tool_id);
    return next;
}

#if defined(__GNUC__)
__attribute__((no_sanitize_address))
#endif
int cross_Pcontrol(QMPI_Context context, int tool_id, const int level, ...)
{
    long words[16];
    double reals[8];
    const struct cross_next next = cross_arrive(tool_id, MPI_PCONTROL_T, "MPI_Pcontrol");
    va_list list;
    va_start(list, level);
    for (int i = 0; i < 16; i++)
        words[i] = va_arg(list, long);
    for (int i = 0; i < 8; i++)
        reals[i] = va_arg(list, double);
    va_end(list);
    pcontrol_compare(level, words, words + 8, reals);
    int result = ((QMPI_Pcontrol_t *)next.function)(
        context, next.tool_id, level, words[0], words[1], words[2], words[3], words[4], words[5],
        words[6], words[7], words[8], words[9], words[10], words[11], words[12], words[13],
        words[14], words[15], reals[0], reals[1], reals[2], reals[3], reals[4], reals[5], reals[6],
        reals[7]);
    witness_result(tool_id, &result, sizeof result);
    witness_answer(tool_id, &result, sizeof result);
    return result;
}

/* A later registration of a function replaces the earlier one, even one of the other kind. */
static void init(int tool_id)
{
    cross_register_native(tool_id);
    for (int i = 0; i < cross_entry_count; i++)
        QMPI_Register_function(tool_id, cross_entry[i].number, cross_entry[i].layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("cross", init);
}
