/* SPDX-License-Identifier: MIT */
/* Steps with memory, windows and files. */
#include "program.h"

#include <stdbool.h>

static void memory(struct storm_thread *thread, const long *a)
{
    char *place = NULL;
    (void)thread;
    OK(Alloc_mem, (1 + a[0], MPI_INFO_NULL, &place));
    memset(place, 1, (size_t)(1 + a[0]));
    OK(Free_mem, (place));
}

/* Buffered sends use one buffer for the whole process, so only programs with one thread
 * make them. */
static void buffered(struct storm_thread *thread, const long *a)
{
    static char room[4096 + MPI_BSEND_OVERHEAD];
    void *back = NULL;
    int size = 0, out = (int)a[0], in = -1;
    const int to = (storm_rank + 1) % storm_size;
    if (storm_thread_count > 1)
        return;
    OK(Buffer_attach, (room, (int)sizeof room));
    OK(Bsend, (&out, 1, MPI_INT, to, 6, thread->comm));
    OK(Recv, (&in, 1, MPI_INT, MPI_ANY_SOURCE, 6, thread->comm, MPI_STATUS_IGNORE));
    CHECK(in == out);
    OK(Buffer_detach, (&back, &size));
    CHECK(back == room && size == (int)sizeof room);
}

static void windows(struct storm_thread *thread, const long *a)
{
    int target = (storm_rank + 1) % storm_size, value = (int)a[0], sum = 1;
    int *base = NULL;
    MPI_Win window;
    OK(Win_allocate, (4 * sizeof(int), sizeof(int), MPI_INFO_NULL, thread->comm, &base, &window));
    base[0] = base[1] = 0;
    OK(Win_fence, (0, window));
    OK(Put, (&value, 1, MPI_INT, target, 0, 1, MPI_INT, window));
    OK(Accumulate, (&sum, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM, window));
    OK(Win_fence, (0, window));
    CHECK(base[0] == (int)a[0] && base[1] == 1);
    OK(Win_free, (&window));
}

/*
 * ROMIO holds a lock of the process while the ranks that open a file wait for each other. If two
 * threads opened two files in different orders on two ranks, there would be a deadlock. Therefore,
 * if a process has several threads, it opens only files of its own.
 */
static void files(struct storm_thread *thread, const long *a)
{
    const bool together = storm_thread_count == 1;
    MPI_Comm comm = thread->comm;
    char name[300];
    int out = (int)a[0] + storm_rank, in = -1;
    MPI_File file;
    MPI_Status status;
    const MPI_Offset at = storm_rank * (MPI_Offset)sizeof out;
    snprintf(name, sizeof name, "%s/file.%d.%d", getenv("TMPDIR"), thread->number,
             together ? 0 : storm_rank);
    if (!together)
        OK(Comm_split, (thread->comm, storm_rank, 0, &comm));
    OK(File_open, (comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    OK(File_write_at_all, (file, at, &out, 1, MPI_INT, &status));
    OK(File_read_at, (file, at, &in, 1, MPI_INT, &status));
    CHECK(in == out);
    OK(File_close, (&file));
    if (!together)
        OK(Comm_free, (&comm));
}

const struct storm_action storm_memory_actions[] = {
    {"memory", memory}, {"buffered", buffered}, {"windows", windows}, {"files", files}, {0}};
