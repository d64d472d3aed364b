/* SPDX-License-Identifier: MIT */
/* See notes.h. */
#define _GNU_SOURCE
#include "validator/notes.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct qmpi_validate_host *host;

/* [number]: what a layer has added to the calls of a function. */
struct added {
    _Atomic uint64_t time, calls;
};
static struct added **added; /* [tool_id] */

void notes_start(const struct qmpi_validate_host *given)
{
    host = given;
    added = qmpi_allocate((size_t)host->layers + 1, sizeof *added);
    for (int tool_id = 1; tool_id <= host->layers; tool_id++)
        added[tool_id] = qmpi_allocate(MPI_LAST_FUNC, sizeof **added);
}

static const char *name_of(int tool_id)
{
    const char *name = "?";
    QMPIX_Tool_get_name(tool_id, &name);
    return name;
}

/* ---- Variants -------------------------------------------------------------------------------- */

static bool exists(int number)
{
    int flag = 0;
    QMPIX_Function_exists((enum QMPI_Functions_enum)number, &flag);
    return flag;
}

static bool is_intercepted(int tool_id, int number)
{
    int flag = 0;
    QMPIX_Tool_intercepts(tool_id, (enum QMPI_Functions_enum)number, &flag);
    return flag;
}

/* Returns the number of the variant of a function that a tool which intercepts the function should
 * also intercept; -1: none. */
static int find_variant(int number)
{
    enum QMPI_Functions_enum variant;
    if (number == MPI_INIT_T || number == MPI_INIT_THREAD_T)
        return number == MPI_INIT_T ? MPI_INIT_THREAD_T : MPI_INIT_T;
    char *name = qmpi_format("%s_c", QMPIX_Function_name((enum QMPI_Functions_enum)number));
    const int found = QMPIX_Function_id(name, &variant) == MPI_SUCCESS ? (int)variant : -1;
    free(name);
    return found;
}

static void print_variants_of(int tool_id)
{
    enum { NAMED = 3 };
    char *list = qmpi_copy("");
    int count = 0;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const int variant =
            exists(number) && is_intercepted(tool_id, number) ? find_variant(number) : -1;
        if (variant < 0 || !exists(variant) || is_intercepted(tool_id, variant) || ++count > NAMED)
            continue;
        char *longer = qmpi_format("%s%s%s, but not %s", list, *list ? "; " : "",
                                   QMPIX_Function_name((enum QMPI_Functions_enum)number),
                                   QMPIX_Function_name((enum QMPI_Functions_enum)variant));
        free(list);
        list = longer;
    }
    char *more = count > NAMED ? qmpi_format("; and %d more", count - NAMED) : qmpi_copy("");
    char *text = qmpi_message("validation: note: layer %d (%s) intercepts %-s%-s\n"
                              "  hint: intercept both, or use an observer, which sees all variants",
                              tool_id, name_of(tool_id), list, more);
    if (count)
        host->print(text);
    free(text);
    free(more);
    free(list);
}

void notes_print_variants(void)
{
    for (int tool_id = 1; tool_id <= host->layers && qmpi_launcher_reports(); tool_id++)
        print_variants_of(tool_id);
}

/* ---- Times ----------------------------------------------------------------------------------- */

uint64_t notes_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void notes_add_time(int tool_id, const QMPIX_Function *function, uint64_t time, bool ends)
{
    struct added *of_function = &added[tool_id][function->number];
    of_function->time += time;
    of_function->calls += ends;
}

/* Returns the function with the most time that is at most `most`, except `than`; -1: none. */
static int find_dearest(const struct added *of_layer, const bool *printed)
{
    int dearest = -1;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (of_layer[number].calls && !printed[number] &&
            (dearest < 0 || of_layer[number].time > of_layer[dearest].time))
            dearest = number;
    }
    return dearest;
}

static void print_times_of(int tool_id)
{
    enum { NAMED = 3 };
    bool printed[MPI_LAST_FUNC] = {false};
    char *list = qmpi_copy("");
    for (int i = 0; i < NAMED; i++) {
        const int number = find_dearest(added[tool_id], printed);
        if (number < 0)
            break;
        printed[number] = true;
        const struct added *of_function = &added[tool_id][number];
        const unsigned long long calls = of_function->calls;
        char *longer = qmpi_format(
            "%s%s%s %.1f us in %llu call%s, %.2f us each", list, *list ? "; " : "",
            QMPIX_Function_name((enum QMPI_Functions_enum)number), (double)of_function->time * 1e-3,
            calls, calls == 1 ? "" : "s", (double)of_function->time * 1e-3 / (double)calls);
        free(list);
        list = longer;
    }
    char *text = qmpi_message("validation: note: layer %d (%s) adds most time to %-s", tool_id,
                              name_of(tool_id), list);
    if (*list)
        host->print(text);
    free(text);
    free(list);
}

void notes_print_times(void)
{
    for (int tool_id = 1; tool_id <= host->layers && qmpi_launcher_reports(); tool_id++)
        print_times_of(tool_id);
}
