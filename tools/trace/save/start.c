/* SPDX-License-Identifier: MIT */
/* See start.h. */
#define _GNU_SOURCE
#include "save/start.h"

#include "layer.h"
#include "record/switches.h"
#include "save/archive.h"
#include "save/convert.h"
#include "save/directory.h"
#include "util/util.h"
#include "write/process.h"
#include "write/writer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static char *host_name(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strdup(host);
}

/* A file that was begun early is moved: what it begins with is told again. */
static void move_file(struct layer *layer, char *path)
{
    struct writer *writer = &layer->writer;
    if (rename(writer->path, path)) {
        qmpi_printf("trace (layer %d): rank %d: cannot move %s to %s: %s; it stays there",
                    layer->tool_id, layer->rank, writer->path, path, strerror(errno));
        free(path);
        path = writer->path;
    }
    writer->path = path;
    writer->mpi = process_mpi();
    atomic_store(&writer->has_world, true);
}

static void open_file(struct layer *layer)
{
    char *host = host_name();
    char *path = trace_file_path(layer->directory, layer->rank, getpid(), host ? host : "");
    free(host);
    directory_make(layer->directory);
    if (!path)
        return;
    if (atomic_load(&layer->writer.runs)) {
        move_file(layer, path);
        return;
    }
    writer_start(layer, path);
    free(path);
}

bool start_early(struct layer *layer)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *path = NULL, *host = host_name();
    pthread_mutex_lock(&lock);
    if (!atomic_load(&layer->writer.runs) && !layer->has_failed_early && host &&
        asprintf(&path, "%s.%s-%ld" TRACE_FILE_SUFFIX, layer->directory, host, (long)getpid()) > 0)
        layer->has_failed_early = !writer_start(layer, path);
    pthread_mutex_unlock(&lock);
    free(path);
    free(host);
    return atomic_load(&layer->writer.runs);
}

static void say(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): %-s\n  nothing is recorded", layer->tool_id, problem);
    free(problem);
}

/* That of rank 0: with %p and %h, those of others have other names. */
static bool share_directory(struct layer *layer, MPI_Comm comm)
{
    unsigned long long length = strlen(layer->directory);
    if (PMPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, comm) != MPI_SUCCESS)
        return false;
    char *directory = calloc(1, (size_t)length + 1);
    if (!directory)
        return false;
    if (layer->rank == 0)
        memcpy(directory, layer->directory, (size_t)length);
    if (PMPI_Bcast(directory, (int)length, MPI_BYTE, 0, comm) != MPI_SUCCESS)
        return false;
    layer->directory = directory; /* the former one may be in use */
    return true;
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
    layer->has_no_directory = !word[2];
    if (word[2])
        word[2] = share_directory(layer, comm);
    if (!word[2])
        switches_set(layer, OFF_FAILED, true);
    else
        open_file(layer);
}

void start_alone(struct layer *layer)
{
    char *problem = layer->launcher_rank < 0 ? directory_prepare(layer->directory)
                                             : directory_check(layer->directory);
    if (problem) {
        say(layer, problem);
        switches_set(layer, OFF_FAILED, true);
        return;
    }
    choose_run(layer->run);
    open_file(layer);
}

/* A file that must not grow any more is an error, not the end of the program. */
void finish_all(struct layer *layer, MPI_Comm comm)
{
    const struct timespec at_once = {0, 0};
    sigset_t too_large, before;
    if (layer->has_no_directory)
        return;
    sigemptyset(&too_large);
    sigaddset(&too_large, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &too_large, &before);
    if (layer->options.format == FORMAT_OTF2)
        archive_write(layer, comm);
    else if (layer->options.format != FORMAT_PROCESS_FILES)
        convert_write(layer, comm);
    if (!sigismember(&before, SIGXFSZ))
        sigtimedwait(&too_large, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
