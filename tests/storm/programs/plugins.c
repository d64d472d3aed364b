/* SPDX-License-Identifier: MIT */
/*
 * Steps that load, use and unload plugins (tools/plugin.c). Plugin N is the file
 * $STORM_LIBRARIES/plugin_N.so. Each thread has four places for open plugins.
 */
#include "../plugin.h"
#include "program.h"

#include <dlfcn.h>
#include <time.h>

enum { PLACES = 4 };

static void *places[STORM_THREADS][PLACES];

static void *open_library(const char *name, long number, int mode)
{
    char path[512];
    void *handle;
    snprintf(path, sizeof path, "%s/%s%ld.so", getenv("STORM_LIBRARIES"), name, number);
    handle = dlopen(path, mode);
    if (!handle)
        storm_wrong(storm, "dlopen: %s", dlerror());
    return handle;
}

static int mode_of(long a)
{
    return (a & 1 ? RTLD_LAZY : RTLD_NOW) | (a & 2 ? RTLD_GLOBAL : RTLD_LOCAL);
}

static void use_library(struct storm_thread *thread, void *handle, long calls)
{
    const struct storm_use use = {storm, thread->comm, storm_rank, (int)calls};
    storm_plugin_function *function =
        handle ? (storm_plugin_function *)(uintptr_t)dlsym(handle, STORM_PLUGIN) : NULL;
    if (function)
        function(&use);
    else
        storm_wrong(storm, "a plugin without its function: %s", handle ? dlerror() : "not open");
}

static void **place(struct storm_thread *thread, long number)
{
    return &places[thread->number][number % PLACES];
}

/* The next three steps are open PLUGIN PLACE MODE; use PLACE CALLS; close PLACE. `open` does
 * nothing if the place is in use, and the other two do nothing if it is free. */
static void open_plugin(struct storm_thread *thread, const long *a)
{
    void **where = place(thread, a[1]);
    if (!*where)
        *where = open_library("plugin_", a[0], mode_of(a[2]));
}

static void use_plugin(struct storm_thread *thread, const long *a)
{
    if (*place(thread, a[0]))
        use_library(thread, *place(thread, a[0]), a[1]);
}

static void close_plugin(struct storm_thread *thread, const long *a)
{
    void **where = place(thread, a[0]);
    if (*where)
        CHECK(dlclose(*where) == 0);
    *where = NULL;
}

/* churn PLUGIN TIMES CALLS MODE: opens, uses and closes the plugin repeatedly. */
static void churn(struct storm_thread *thread, const long *a)
{
    for (long i = 0; i < a[1]; i++) {
        void *handle = open_library("plugin_", a[0], mode_of(a[3]));
        if (handle && a[2])
            use_library(thread, handle, a[2]);
        if (handle)
            CHECK(dlclose(handle) == 0);
    }
}

/* crowd FIRST COUNT: loads many small libraries, which stay loaded. */
static void crowd(struct storm_thread *thread, const long *a)
{
    (void)thread;
    for (long i = 0; i < a[1]; i++)
        open_library("crowd/", a[0] + i, RTLD_NOW | RTLD_LOCAL);
}

/* The plugins that open_list has opened, by number. Another thread uses them later. */
static void *listed[64];

/* open_list FIRST COUNT MICROSECONDS: opens several plugins, and waits before each. */
static void open_list(struct storm_thread *thread, const long *a)
{
    struct timespec pause = {0, a[2] * 1000};
    (void)thread;
    for (long i = 0; i < a[1]; i++) {
        nanosleep(&pause, NULL);
        listed[a[0] + i] = open_library("plugin_", a[0] + i, RTLD_NOW | RTLD_LOCAL);
    }
}

/* use_list FIRST COUNT CALLS: uses these plugins. If layer 1 wraps MPI_Comm_rank, reports each
 * plugin of which the layer sees another number of calls: judge.py could not tell which plugin it
 * is. */
static void use_list(struct storm_thread *thread, const long *a)
{
    const uint64_t *seen = &storm->layer[1].seen[STORM_Comm_rank];
    for (long i = 0; i < a[1]; i++) {
        const uint64_t before = *seen;
        use_library(thread, listed[a[0] + i], a[2]);
        if (storm->layer[1].takes[STORM_Comm_rank] && *seen - before != (uint64_t)a[2])
            storm_wrong(storm, "layer 1 saw %ld of %ld calls of plugin %ld", (long)(*seen - before),
                        a[2], a[0] + i);
    }
}

/* Looks up MPI_Comm_rank and calls it a[1] times. a[0] % 3 is 0: by RTLD_DEFAULT; 1: in the MPI
 * library; 2: by RTLD_NEXT. */
static void look_up(struct storm_thread *thread, const long *a)
{
    int (*function)(MPI_Comm, int *) = NULL;
    void *handle = NULL;
    int rank = -5;
    switch (a[0] % 3) {
    case 0:
        function = (int (*)(MPI_Comm, int *))(uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
        break;
    case 1:
        handle = dlopen(STORM_MPI_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
        function = (int (*)(MPI_Comm, int *))(uintptr_t)dlsym(handle, "MPI_Comm_rank");
        dlclose(handle);
        break;
    default:
        function = (int (*)(MPI_Comm, int *))(uintptr_t)dlsym(RTLD_NEXT, "MPI_Comm_rank");
    }
    CHECK(function);
    for (long i = 0; function && i < a[1]; i++) {
        storm_add(&storm->program[STORM_Comm_rank], 1);
        CHECK(function(thread->comm, &rank) == MPI_SUCCESS && rank == storm_rank);
    }
}

const struct storm_action storm_plugin_actions[] = {
    {"open", open_plugin},  {"use", use_plugin},  {"close", close_plugin},
    {"churn", churn},       {"crowd", crowd},     {"open_list", open_list},
    {"use_list", use_list}, {"look_up", look_up}, {0}};
