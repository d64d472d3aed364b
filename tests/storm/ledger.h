/* SPDX-License-Identifier: MIT */
/*
 * The ledger: one file per process of a run, mapped by the program, by every tool and by every
 * plugin, in which each writes down what it did. It outlives the process however that ends; the
 * judge (judge.py, which knows this layout) compares what the layers saw with what was called.
 * Everything here may be done in a signal handler, in a child after fork, and by any thread.
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
    STORM_FUNCTIONS = 832, /* at least as many as functions.txt numbers: see tools/native.c */
    STORM_LAYERS = 17,     /* 1 … 16; 0 is not used */
    STORM_EVENTS = 96,
    STORM_MESSAGES = 32,
    STORM_MESSAGE = 240
};

/* Where the call that a thread is about to make will return to. `unknown`: nothing is promised. */
struct storm_caller {
    const void *from, *to;
    int unknown;
};

typedef uint64_t storm_counts[STORM_FUNCTIONS];

struct storm_layer {
    uint64_t inits;     /* how often the layer was initialised */
    uint64_t on;        /* 1: switched on; 0: off; 2: somebody switches it all the while */
    storm_counts takes; /* 1: the layer intercepts the function */
    storm_counts seen;  /* calls that came to the layer */
    storm_counts down;  /* calls that the layer made itself, to those below it */
    storm_counts top;   /* calls that the layer made itself by MPI_X: they begin at the top */
    storm_counts mark;  /* what had come to the layer's place when it was switched last */
    storm_counts low;   /* of what came before that: at least so many must have been seen, */
    storm_counts high;  /* and at most so many */
};

struct storm_ledger {
    struct storm_caller *(*caller)(void); /* of this thread; NULL until the program is ready */
    uint64_t steps;                       /* how many steps of the script were carried out */
    uint64_t ended;                       /* 1: the script came to its end */
    uint64_t jumps;                       /* calls that a longjmp left half done */
    uint64_t racing;                      /* layers are being switched: callers are not known */
    uint64_t message_count;
    char message[STORM_MESSAGES][STORM_MESSAGE];
    uint64_t events[STORM_EVENTS]; /* how often each kind of step was carried out */
    storm_counts program;          /* calls that the program made */
    storm_counts slack;            /* of these, some may have been left before they came anywhere */
    storm_counts untold; /* of these, some need not be told of at the end: those of child processes,
                          * and those that were left by longjmp */
    struct storm_layer layer[STORM_LAYERS];
};

static inline void storm_add(uint64_t *counter, uint64_t amount)
{
    __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

/* Notes a difference. Messages beyond the last are counted only. */
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

/* The ledger of this process: the file $STORM_LEDGER.RANK. Where there is none the library is used
 * for something else, such as `qmpi check`; everything is then written nowhere. */
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

/* This object's own part of the address space: a range of callers. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

#endif
