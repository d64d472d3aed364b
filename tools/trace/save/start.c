/* SPDX-License-Identifier: MIT */
/* See start.h. */
#define _GNU_SOURCE
#include "save/start.h"

#include "layer.h"
#include "record/switches.h"
#include "save/directory.h"
#include "util/util.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static void choose_run(uint64_t run[2])
{
    struct timespec now;
    if (getrandom(run, 2 * sizeof *run, GRND_NONBLOCK) == (ssize_t)(2 * sizeof *run))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    run[0] = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    run[1] = (uint64_t)getpid() << 32 ^ ticks_now();
}

/* Only what is recorded needs a file. */
static bool records(const struct layer *layer)
{
    return qmpi_number_set_has(&layer->options.ranks, layer->rank < 0 ? 0 : (uint64_t)layer->rank);
}

static void open_file(struct layer *layer)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char *path = trace_file_path(layer->directory, layer->rank, getpid(), host);
    directory_make(layer->directory);
    if (path)
        writer_start(layer, path);
    free(path);
}

static void say(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): %-s\n  nothing is recorded", layer->tool_id, problem);
    free(problem);
}

void start_all(struct layer *layer, MPI_Comm comm)
{
    unsigned long long word[3] = {0, 0, 1}; /* the run, and whether it can be recorded */
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (layer->rank == 0) {
        char *problem = directory_prepare(layer->directory);
        uint64_t run[2];
        choose_run(run);
        word[0] = run[0];
        word[1] = run[1];
        word[2] = !problem;
        if (problem)
            say(layer, problem);
    }
    if (PMPI_Bcast(word, 3, MPI_UNSIGNED_LONG_LONG, 0, comm) != MPI_SUCCESS)
        word[2] = 0;
    layer->run[0] = word[0];
    layer->run[1] = word[1];
    if (!word[2])
        switches_set(layer, OFF_FAILED, true);
    else if (records(layer))
        open_file(layer);
}

void start_alone(struct layer *layer)
{
    if (atomic_load(&layer->writer.runs) || !records(layer))
        return;
    char *problem = directory_check(layer->directory);
    if (problem) {
        say(layer, problem);
        switches_set(layer, OFF_FAILED, true);
        return;
    }
    choose_run(layer->run);
    open_file(layer);
}
