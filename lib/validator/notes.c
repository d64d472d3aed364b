/* SPDX-License-Identifier: MIT */
/* See notes.h. */
#define _GNU_SOURCE
#include "validator/notes.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct qmpi_validate_host *host;

/* The costs that a layer has added to the calls of one function. */
struct added {
    _Atomic uint64_t time, calls;
    _Atomic long long bytes; /* allocated minus freed in calls of this function */
};
static struct added **added;        /* [tool_id][number] */
static _Atomic long long kept[256]; /* [tool_id]: bytes allocated minus bytes freed */
enum { NAMED = 3 };                 /* the maximum number of functions in a note */

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

/* Returns the number of the variant that a tool should also intercept if it intercepts the
 * function, or -1 if there is none. */
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

/* ---- Time and memory ------------------------------------------------------------------------- */

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

void notes_add_memory(int tool_id, const QMPIX_Function *function, long long bytes)
{
    kept[tool_id] += bytes;
    if (function)
        added[tool_id][function->number].bytes += bytes;
}

/* Returns the added time in microseconds, or the added memory in bytes. */
typedef double cost_function(const struct added *of_function);

static double time_of(const struct added *of_function)
{
    return (double)of_function->time * 1e-3;
}

static double bytes_of(const struct added *of_function)
{
    return (double)of_function->bytes;
}

/* Returns the function with the highest cost among those that are not printed yet, or -1 if there
 * is none. */
static int find_most_costly(const struct added *of_layer, const bool *printed, cost_function *cost)
{
    int found = -1;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        if (of_layer[number].calls && !printed[number] && cost(&of_layer[number]) > 0 &&
            (found < 0 || cost(&of_layer[number]) > cost(&of_layer[found])))
            found = number;
    }
    return found;
}

/* Returns the functions with the highest costs, such as `MPI_Send (10.2 us in 2 calls, 5.10 us
 * each)`, or an empty text. The caller frees it. */
static char *list_most_costly(int tool_id, cost_function *cost, const char *unit, int digits)
{
    bool printed[MPI_LAST_FUNC] = {false};
    char *list = qmpi_copy("");
    for (int i = 0; i < NAMED; i++) {
        const int number = find_most_costly(added[tool_id], printed, cost);
        if (number < 0)
            break;
        printed[number] = true;
        const struct added *of_function = &added[tool_id][number];
        const unsigned long long calls = of_function->calls;
        char *longer = qmpi_format(
            "%s%s%s (%.*f %s in %llu call%s, %.*f %s each)", list, *list ? ", " : "",
            QMPIX_Function_name((enum QMPI_Functions_enum)number), digits / 2, cost(of_function),
            unit, calls, calls == 1 ? "" : "s", digits, cost(of_function) / (double)calls, unit);
        free(list);
        list = longer;
    }
    return list;
}

static void print_costs_of(int tool_id)
{
    char *time = list_most_costly(tool_id, time_of, "us", 2);
    char *memory = list_most_costly(tool_id, bytes_of, "bytes", 0);
    char *time_text = qmpi_message("validation: note: layer %d (%s) adds most time to %-s", tool_id,
                                   name_of(tool_id), time);
    char *memory_text = qmpi_message(
        "validation: note: layer %d (%s) adds memory: %lld bytes at the end%s%-s", tool_id,
        name_of(tool_id), (long long)kept[tool_id], *memory ? ", most in " : "", memory);
    if (*time)
        host->print(time_text);
    if (*memory || kept[tool_id] > 0)
        host->print(memory_text);
    free(memory_text);
    free(time_text);
    free(memory);
    free(time);
}

void notes_print_costs(void)
{
    for (int tool_id = 1; tool_id <= host->layers && qmpi_launcher_reports(); tool_id++)
        print_costs_of(tool_id);
}
