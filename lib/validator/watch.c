/* SPDX-License-Identifier: MIT */
/* See watch.h. */
#define _GNU_SOURCE
#include "validator/watch.h"

#include "validator/visit.h"

#include <stdlib.h>
#include <string.h>

static const struct qmpi_validate_host *host;

enum { IDS = 256 };
/* The library of each layer, by tool_id. */
static struct {
    uintptr_t start, end;    /* the addresses of the library */
    bool runs_outside_calls; /* see watch_runs_outside_calls */
} libraries[IDS];
static int loaded_last; /* the layer whose tool was loaded last */
static bool loads_pmpi; /* whether this tool is a PMPI tool */

enum { LISTS = 8 }; /* The checks add six lists. */
static struct {
    const struct watch_entry *entries;
    size_t count;
    bool in_pmpi;
} lists[LISTS];
static int list_count;

void watch_start(const struct qmpi_validate_host *given)
{
    host = given;
}

void watch_add(const struct watch_entry *entries, size_t count, bool in_pmpi)
{
    if (list_count == LISTS)
        abort(); /* LISTS is too small for the checks. */
    lists[list_count].in_pmpi = in_pmpi;
    lists[list_count].entries = entries;
    lists[list_count++].count = count;
}

/* ---- Libraries ------------------------------------------------------------------------------- */

/* Returns whether a function, such as pthread_create, makes code of its caller's library run
 * outside the calls of the layer. */
static bool lets_code_run_outside_calls(const char *name)
{
    static const char *const names[] = {"pthread_create",
                                        "thrd_create",
                                        "GOMP_parallel",
                                        "signal",
                                        "sigaction",
                                        "__sysv_signal",
                                        "QMPIX_Tool_sigaction",
                                        "setitimer",
                                        "timer_create",
                                        "QMPIX_Service_offer",
                                        "QMPIX_Pvar_create",
                                        "QMPIX_Pvar_sample",
                                        "QMPIX_Cvar_create",
                                        "QMPIX_Register_library_closed",
                                        "QMPIX_Register_publisher",
                                        "QMPIX_Register_stack_changed"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(names[i], name))
            return true;
    }
    return !strncmp(name, "_ZNSt6thread", strlen("_ZNSt6thread")); /* std::thread */
}

static void *find_watched(const char *name)
{
    libraries[loaded_last].runs_outside_calls |= lets_code_run_outside_calls(name);
    for (int list = 0; list < list_count; list++) {
        if (loads_pmpi && !lists[list].in_pmpi)
            continue;
        for (size_t i = 0; i < lists[list].count; i++) {
            if (!strcmp(lists[list].entries[i].name, name))
                return (void *)(uintptr_t)lists[list].entries[i].watched;
        }
    }
    return NULL;
}

void watch_layer(int tool_id)
{
    const char *binding = "";
    loaded_last = tool_id;
    QMPIX_Tool_get_binding(tool_id, &binding);
    loads_pmpi = !strncmp(binding, "PMPI tool", strlen("PMPI tool"));
    if (!host->range(tool_id, &libraries[tool_id].start, &libraries[tool_id].end) ||
        !host->redirect(tool_id, find_watched))
        libraries[tool_id].runs_outside_calls = true;
}

/* ---- Callers --------------------------------------------------------------------------------- */

bool watch_contains(int tool_id, const void *address)
{
    return (uintptr_t)address >= libraries[tool_id].start &&
           (uintptr_t)address < libraries[tool_id].end;
}

int watch_find_layer(const void *address)
{
    const struct visit *visit = visit_current();
    if (visit && watch_contains(visit->tool_id, address))
        return visit->tool_id;
    if (watch_contains(loaded_last, address))
        return loaded_last;
    int tool_id = host->layers;
    while (tool_id && !watch_contains(tool_id, address))
        tool_id--;
    return tool_id;
}

bool watch_runs_outside_calls(int tool_id)
{
    return libraries[tool_id].runs_outside_calls;
}
