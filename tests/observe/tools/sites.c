/* SPDX-License-Identifier: MIT */
/*
 * Prints the callers of each call of MPI_Comm_rank and MPI_Comm_size. For each caller's address, it
 * prints the innermost inlined function first. It compares the callers with those that the C
 * library's unwinder finds. In MPI_Barrier, it calls MPI_Comm_size itself. Options:
 *   describe=no   only compares
 *   end=yes       prints the callers of the last call once more in MPI_Finalize
 *   release=yes   releases the debug information after each call, and prints whether the library
 *                 that reads it was mapped before, and whether it is mapped now
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { DEEP = 200 };

static bool describes, at_end, releases;
static atomic_int walks, wrong;
static void *noted[DEEP];
static int noted_count;

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path ? path : "?";
}

/* Stores the functions at an address in `text`, as in "inner:LINE < function:LINE". If they are
 * unknown, stores the name of the library. For an address in the C library, always stores "libc",
 * and for one in no library, "nowhere". Returns the length of the text, or more than `room` if the
 * text was cut off. */
static int print(char *text, int room, const void *address)
{
    const QMPIX_Address *found, *again = NULL;
    const char *library;
    size_t offset;
    /* First describes the place in the file, about which less may be known. Nevertheless, the
     * description of the address itself must be complete. */
    if (QMPIX_Address_find(address, &library, &offset) == MPI_SUCCESS)
        QMPIX_Library_describe(library, offset, &found);
    if (QMPIX_Address_describe(address, &found) != MPI_SUCCESS)
        return snprintf(text, (size_t)room, "nowhere");
    QMPIX_Address_describe(address, &again);
    wrong += again != found;
    int length = 0;
    if (strstr(found->library, "/libc.so"))
        return snprintf(text, (size_t)room, "libc");
    for (int i = 0; i < found->frame_count && length < room; i++)
        length += snprintf(text + length, (size_t)(room - length), "%s%s:%d", i ? " < " : "",
                           found->frames[i].function ? found->frames[i].function : "?",
                           found->frames[i].line);
    if (found->frame_count)
        return length;
    return snprintf(text, (size_t)room, "%s", base_name(found->library));
}

static void print_all(const char *what, void *const *callers, int count)
{
    char text[480];
    int length = 0;
    for (int i = 0; i < count && length < (int)sizeof text - 1; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length, "%s", i ? " | " : "");
        if (length < (int)sizeof text)
            length += print(text + length, (int)sizeof text - length, callers[i]);
    }
    trace("%s: %s", what, length ? text : "");
}

/* Returns whether a file whose path contains `library` is mapped. */
static bool is_mapped(const char *library)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, library);
    if (maps)
        fclose(maps);
    return found;
}

static void release(void)
{
    const bool before = is_mapped("/qmpi-symbols.module");
    QMPIX_Debug_info_release();
    QMPIX_Debug_info_release(); /* allowed when nothing is open */
    trace("released: %smapped before, %smapped now", before ? "" : "not ",
          is_mapped("/qmpi-symbols.module") ? "" : "not ");
}

/* Checks that all callers are in the unwinder's list, in the same order, and that none of the last
 * ones is missing. */
static void compare(void *const *callers, int count)
{
    void *all[DEEP + 56];
    const int all_count = backtrace(all, DEEP + 56);
    int k = 0, found = 0, rest = -1;
    for (int i = 0; i < all_count && k < count; i++) {
        if (all[i] == callers[k]) {
            k++;
            found = i;
        }
    }
    rest = all_count - 1 - found; /* up to three: _start and two functions of the C library */
    walks++;
    if (k == count && (rest <= 3 || count == DEEP))
        return;
    wrong++;
    trace("wrong: %d of %d found, %d more", k, count, rest);
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    void *callers[DEEP], *first = NULL, *few[2];
    int count = -1, few_count = -1;
    const int number = (int)call->function->number;
    (void)word;
    if (number == MPI_BARRIER_T) {
        int size;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    if (number == MPI_FINALIZE_T) {
        if (noted_count)
            print_all("at the end", noted, noted_count);
        trace("%s walks, %d wrong", walks ? "some" : "no", wrong);
    }
    if (number != MPI_COMM_RANK_T && number != MPI_COMM_SIZE_T)
        return;
    QMPIX_Call_get_caller(call, &first);
    if (QMPIX_Call_get_callers(call, DEEP, callers, &count) != MPI_SUCCESS || count < 1 ||
        callers[0] != first)
        trace("wrong: %d callers", count);
    if (QMPIX_Call_get_callers(call, 2, few, &few_count) != MPI_SUCCESS ||
        few_count != (count < 2 ? count : 2) ||
        memcmp(few, callers, (size_t)few_count * sizeof *few) != 0)
        trace("wrong: %d of %d callers", few_count, count);
    compare(callers, count);
    if (describes)
        print_all(call->function->name, callers, count);
    if (releases)
        release();
    if (at_end) {
        noted_count = count;
        memcpy(noted, callers, (size_t)count * sizeof *callers);
    }
}

static void closed(int tool_id, const char *library, const void *begin, const void *end)
{
    (void)tool_id;
    (void)library;
    (void)begin;
    (void)end;
}

/* Checks the results of erroneous calls. */
static void check_errors(void)
{
    const QMPIX_Address *description = NULL;
    const char *library;
    size_t offset;
    int count, here;
    if (QMPIX_Call_get_callers(NULL, 1, NULL, &count) != MPI_ERR_ARG ||
        QMPIX_Address_describe(NULL, &description) != MPI_ERR_ARG ||
        QMPIX_Address_describe((void *)(uintptr_t)check_errors, NULL) != MPI_ERR_ARG ||
        QMPIX_Address_describe(&here, &description) != MPI_ERR_ARG || description ||
        QMPIX_Address_find(NULL, &library, &offset) != MPI_ERR_ARG ||
        QMPIX_Register_library_closed(0, closed) != MPI_ERR_ARG ||
        QMPIX_Register_library_closed(1, NULL) != MPI_ERR_ARG ||
        QMPIX_Library_describe(NULL, 0, &description) != MPI_ERR_ARG ||
        QMPIX_Library_describe("no such file", 5, &description) != MPI_SUCCESS ||
        description->frame_count || strcmp(description->library, "no such file") != 0)
        trace("wrong: results of erroneous calls");
}

static void init(int tool_id)
{
    static const QMPIX_Observer observer = {.size = sizeof observer, .after = after};
    const char *value;
    void *frame;
    backtrace(&frame, 1); /* the first call loads the unwinder */
    describes = QMPIX_Tool_get_option(tool_id, "describe", &value) != MPI_SUCCESS ||
                strcmp(value, "no") != 0;
    at_end = QMPIX_Tool_get_option(tool_id, "end", &value) == MPI_SUCCESS;
    releases = QMPIX_Tool_get_option(tool_id, "release", &value) == MPI_SUCCESS;
    check_errors();
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("sites", init);
}
