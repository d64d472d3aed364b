/* SPDX-License-Identifier: MIT */
/*
 * The ledger is a file for each process of a run. The program, its plugins and the storm's own
 * tools record in it what they do. The file remains, however the process ends. Then judge.py, which
 * reads it with ledger.py, compares the calls that the layers saw with those that were made.
 * storm_add and storm_wrong may be called in a signal handler, in a child after fork, and by any
 * thread.
 */
#ifndef STORM_LEDGER_H
#define STORM_LEDGER_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    STORM_FUNCTIONS = 832, /* not less than the number of functions: see tools/native.c */
    STORM_LAYERS = 17,     /* 1 … 16; 0 is not used */
    STORM_EVENTS = 96,
    STORM_MESSAGES = 32,
    STORM_MESSAGE = 240
};

/* The address range to which the next MPI call of a thread will return. If `unknown` is set, the
 * range is not known. */
struct storm_caller {
    const void *from, *to;
    int unknown;
};

typedef uint64_t storm_counts[STORM_FUNCTIONS];

struct storm_layer {
    uint64_t inits;     /* how often the layer was initialized */
    uint64_t on;        /* 1: on; 0: off; 2: it is being switched repeatedly */
    storm_counts takes; /* 1: the layer intercepts the function */
    storm_counts seen;  /* calls that reached the layer */
    storm_counts down;  /* calls that the layer itself made to the layers below */
    storm_counts top;   /* calls that the layer itself made by MPI_X, which begin at the top */
    storm_counts mark;  /* calls that had reached the layer's place when it was last switched */
    storm_counts low;   /* how many of the first `mark` calls the layer must have seen */
    storm_counts high;  /* … and how many it may have seen */
};

struct storm_ledger {
    struct storm_caller *(*caller)(void); /* returns the caller of this thread; NULL until the
                                             program is ready */
    uint64_t steps;                       /* number of steps of the script that were carried out */
    uint64_t ended;                       /* 1: the script was completed */
    uint64_t jumps;                       /* number of calls that a longjmp left */
    uint64_t racing;                      /* 1: layers are being switched, so callers are unknown */
    uint64_t message_count;
    char message[STORM_MESSAGES][STORM_MESSAGE];
    uint64_t events[STORM_EVENTS]; /* how often each kind of step was begun */
    storm_counts program;          /* calls that the program made */
    storm_counts slack;  /* of `program`, calls that may have been left before they reached a
                            layer */
    storm_counts untold; /* of `program`, calls that tools need not report at the end: those of
                            child processes, those that an error handler left by longjmp, and
                            those of sessions after the reports */
    struct storm_layer layer[STORM_LAYERS];
};

static inline void storm_add(uint64_t *counter, uint64_t amount)
{
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

/* Records a difference. After the first STORM_MESSAGES ones, differences are only counted. */
__attribute__((format(printf, 2, 3))) static inline void storm_wrong(struct storm_ledger *ledger,
                                                                     const char *format, ...)
{
    va_list list;
    const uint64_t number = __atomic_fetch_add(&ledger->message_count, 1, __ATOMIC_RELAXED);
    if (number >= STORM_MESSAGES)
        return;
    va_start(list, format);
    vsnprintf(ledger->message[number], STORM_MESSAGE, format, list);
    va_end(list);
}

static inline const char *storm_rank_text(void)
{
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        if (text)
            return text;
    }
    return "0";
}

/* Returns the ledger of this process, the file $STORM_LEDGER.RANK. Outside a run (for example, in
 * `qmpi check`), there is no such file, and the records are discarded. */
static inline struct storm_ledger *storm_open_ledger(void)
{
    char path[512];
    const char *prefix = getenv("STORM_LEDGER");
    int file = -1;
    void *map = MAP_FAILED;
    if (prefix) {
        snprintf(path, sizeof path, "%s.%s", prefix, storm_rank_text());
        file = open(path, O_RDWR | O_CLOEXEC);
    }
    if (file >= 0) {
        map = mmap(NULL, sizeof(struct storm_ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
    if (map == MAP_FAILED)
        map = mmap(NULL, sizeof(struct storm_ledger), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        abort();
    return map;
}

/* The address range of this program or library, from which it calls MPI. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

#endif
