/* SPDX-License-Identifier: MIT */
/* See job.h. */
#define _GNU_SOURCE
#include "validator/job.h"

#include "functions/functions.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KINDS_MAX = 32, SLOTS = 32, NAME = 64, RANKS = 1024, BITS = 64 };

/* A layer, identified by its number and name, because ranks may have different stacks. */
struct slot {
    /* FREE, WRITING or COMPLETE. COMPLETE is stored after `tool_id` and `name`. The processes of
     * the host share the slots. Most accesses are sequentially consistent, because they are rare.
     */
    _Atomic int state;
    int tool_id;
    char name[NAME];
    _Atomic int reported[KINDS_MAX]; /* UNREPORTED, REPORTING or REPORTED */
    _Atomic unsigned rank_count[KINDS_MAX];
    _Atomic uint64_t ranks[KINDS_MAX][RANKS / BITS];
    _Atomic unsigned calls[KINDS_MAX][MPI_LAST_FUNC];
};
enum { FREE, WRITING, COMPLETE };
enum { UNREPORTED, REPORTING, REPORTED };

struct shared {
    _Atomic bool called; /* a call has reached a layer of any process */
    _Atomic bool found;  /* any process has found faults */
    _Atomic bool printed;
    struct slot slots[SLOTS];
};

static struct shared *table;
static int kind_count;

/* The file of the table. A process locks byte 0 while it joins or leaves. As long as it takes part,
 * it also locks byte 1 + its process ID, and the kernel removes this lock when the process dies. */
static int file = -1;
static char *file_name;

/* ---- Locks ----------------------------------------------------------------------------------- */

static bool set_lock(int type, off_t byte)
{
    struct flock wanted = {
        .l_type = (short)type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(file, F_SETLKW, &wanted) == 0;
}

static bool others_take_part(void)
{
    struct flock found = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 0};
    return fcntl(file, F_GETLK, &found) == 0 && found.l_type != F_UNLCK;
}

/* ---- The table ------------------------------------------------------------------------------- */

/* Returns whether a file may have this size. Exceeding the limit would end the process with a
 * signal. */
static bool may_have_size(size_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    return hash;
}

/* Opens the file and maps the table. Clears a file that an earlier job has left behind. Returns
 * NULL if the table cannot be shared. */
static struct shared *share_table(const char *job)
{
    void *shared = MAP_FAILED;
    file_name = qmpi_format("/qmpi-validate-%u-%016llx", (unsigned)getuid(),
                            (unsigned long long)hash_text(job));
    file = may_have_size(sizeof *table)
               ? shm_open(file_name, O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR)
               : -1;
    if (file < 0 || !set_lock(F_WRLCK, 0))
        return NULL;
    if (others_take_part() || ftruncate(file, 0) == 0) {
        set_lock(F_WRLCK, 1 + getpid());
        /* Without room for the whole table, access to it would end the process with a signal. */
        if (posix_fallocate(file, 0, sizeof *table) == 0)
            shared = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    set_lock(F_UNLCK, 0);
    return shared == MAP_FAILED ? NULL : shared;
}

void job_start(int kinds)
{
    kind_count = kinds;
    tool_run_find();
    const char *const job = qmpi_launcher_rank() < 0 ? NULL : tool_run_job();
    table = job ? share_table(job) : NULL;
    if (table)
        return;
    if (file >= 0)
        close(file);
    file = -1;
    table = qmpi_allocate(1, sizeof *table);
}

void job_hide(void)
{
    static _Atomic bool hidden;
    if (file >= 0 && !__atomic_exchange_n(&hidden, true, __ATOMIC_RELAXED))
        shm_unlink(file_name);
}

void job_set_called(void)
{
    table->called = true;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* Returns whether a slot is complete. If another process is writing it, waits for this process, but
 * not for ever, because it may have died. */
static bool is_complete(const struct slot *slot)
{
    enum { TURNS = 100000 };
    for (int i = 0; slot->state == WRITING && i < TURNS; i++)
        sched_yield();
    return slot->state == COMPLETE;
}

/* Returns the slot of a layer. If no slot is free, this is the last one, which is never printed. */
static struct slot *find_slot(int tool_id, const char *name)
{
    int i;
    for (i = 0; i < SLOTS - 1; i++) {
        struct slot *slot = &table->slots[i];
        int expected = FREE;
        if (__atomic_compare_exchange_n(&slot->state, &expected, WRITING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            slot->tool_id = tool_id;
            strncpy(slot->name, name, NAME - 1);
            slot->state = COMPLETE;
        }
        if (is_complete(slot) && slot->tool_id == tool_id && !strncmp(slot->name, name, NAME - 1))
            break;
    }
    return &table->slots[i];
}

/* Returns whether this process must report a fault. If another process is reporting it, waits until
 * that process has printed the message, because this process may end the job next. */
static bool is_to_report(_Atomic int *reported)
{
    enum { SECONDS = 5, STEPS_PER_SECOND = 1000 };
    int expected = UNREPORTED;
    if (__atomic_compare_exchange_n(reported, &expected, REPORTING, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return true;
    for (int i = 0; i < SECONDS * STEPS_PER_SECOND && *reported == REPORTING; i++)
        usleep(1000000 / STEPS_PER_SECOND);
    return *reported == REPORTING; /* true: the other process has probably died */
}

bool job_count(int tool_id, const char *name, int kind, int function)
{
    struct slot *slot = find_slot(tool_id, name);
    const int rank = qmpi_launcher_rank();
    if (rank >= 0) {
        const uint64_t bit = UINT64_C(1) << rank % BITS;
        const uint64_t others =
            rank < RANKS ? __atomic_fetch_or(&slot->ranks[kind][rank / BITS], bit, __ATOMIC_RELAXED)
                         : 0;
        slot->rank_count[kind] += !(others & bit);
    }
    slot->calls[kind][function]++;
    table->found = true;
    return is_to_report(&slot->reported[kind]);
}

void job_set_reported(int tool_id, const char *name, int kind)
{
    find_slot(tool_id, name)->reported[kind] = REPORTED;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* Returns `, rank 3`, `, 2 ranks (0, 3)`, or an empty text. */
static char *describe_ranks(const struct slot *slot, int kind)
{
    enum { NAMED = 8 };
    const unsigned count = slot->rank_count[kind];
    char *list = qmpi_copy("");
    int named = 0;
    for (int rank = 0; rank < RANKS && named < NAMED; rank++) {
        if (!(slot->ranks[kind][rank / BITS] >> rank % BITS & 1))
            continue;
        char *longer = qmpi_format("%s%s%d", list, named++ ? ", " : "", rank);
        free(list);
        list = longer;
    }
    char *text = !count       ? qmpi_copy("")
                 : count == 1 ? qmpi_format(", rank %s", list)
                              : qmpi_format(", %u ranks (%s%s)", count, list,
                                            count > (unsigned)named ? ", …" : "");
    free(list);
    return text;
}

/* Prints the calls that have not been printed yet. */
static void print_slot(struct slot *slot, void (*print)(const struct job_faults *faults))
{
    for (int kind = 0; kind < kind_count; kind++) {
        unsigned calls[MPI_LAST_FUNC], all = 0;
        for (int number = 0; number < MPI_LAST_FUNC; number++) {
            calls[number] = __atomic_exchange_n(&slot->calls[kind][number], 0, __ATOMIC_RELAXED);
            all |= calls[number];
        }
        if (!all)
            continue;
        struct job_faults faults = {slot->tool_id, slot->name, kind, calls,
                                    describe_ranks(slot, kind)};
        print(&faults);
        free(faults.ranks);
    }
}

static void print_job_table(void (*print)(const struct job_faults *faults))
{
    for (int i = 0; i < SLOTS; i++) {
        if (table->slots[i].state == COMPLETE)
            print_slot(&table->slots[i], print);
    }
    table->printed = true;
}

/* Waits until the last process has printed. */
static void wait_for_others(void)
{
    enum { SECONDS = 10, STEPS_PER_SECOND = 100 };
    for (int i = 0; i < SECONDS * STEPS_PER_SECOND && !table->printed; i++) {
        if (!others_take_part()) /* The last process is printing, or it has died. */
            return;
        usleep(1000000 / STEPS_PER_SECOND);
    }
}

bool job_end(bool found, bool *clean, void (*print)(const struct job_faults *faults))
{
    bool last = file < 0;
    if (!last && set_lock(F_WRLCK, 0)) {
        set_lock(F_UNLCK, 1 + getpid());
        last = !others_take_part();
        if (last)
            job_hide();
        set_lock(F_UNLCK, 0);
    }
    table->found |= found;
    if (!last && found) {
        wait_for_others();
        last = !table->printed;
    }
    *clean = table->called && !table->found;
    if (last)
        print_job_table(print);
    return last;
}
