/* SPDX-License-Identifier: MIT */
/* The parts of slices.h: what is held of the calls of a thread, and the arguments of calls. */
#ifndef QMPI_TRACE_SLICES_PARTS_H
#define QMPI_TRACE_SLICES_PARTS_H

#include "trace/slices.h"

/* What all tracks of a process have in common. */
struct trace_slices {
    const struct trace_export *export;
    const struct trace_slices_format *format;
    const struct trace_process *process;
    uint32_t *groups; /* by function, the first one of its group */
    bool failed;
};

/* The names and categories that are no functions, and texts that are no names. */
enum {
    NAME_SEND = 1,
    NAME_RECEIVE,
    NAME_COMPLETE,
    NAME_CANCELLED,
    NAME_OFF,
    NAME_ON,
    NAME_DROPPED,
    NAME_FLUSH,
    NAME_FIRST_FUNCTION = 16
};
enum { CATEGORY_MESSAGE = 1, CATEGORY_RECORDING, CATEGORY_FIRST_GROUP = 16 };
enum { TEXT_ANY = 1, TEXT_NULL, TEXT_SELF, TEXT_UNFINISHED, TEXT_FIRST = 16 };
enum text_kind { TEXT_COMM, TEXT_SITE, TEXT_WINDOW, TEXT_FILE, TEXT_FUNCTION, TEXT_KINDS = 8 };

/* The number of a text. */
uint64_t trace_slices_text(enum text_kind kind, uint32_t index);

struct detail {
    struct trace_event event;
    uint64_t message;
};

struct details {
    struct detail *all;
    size_t count, room;
};

/* The slices of the calls of one thread. */
struct thread_slices {
    struct trace_slices *slices;
    void *track;
    int64_t last;             /* time of the last event */
    struct trace_event enter; /* that has not been written yet */
    bool has_enter;
    struct details details; /* of `enter`, or of the end that comes */
    uint64_t depth;
    uint32_t used[32], used_by_instant; /* by depth: the arguments that an event has */
    uint32_t *use;                      /* of the event that is being made */
};

/* NULL: memory is exhausted. */
struct thread_slices *trace_thread_slices_make(struct trace_slices *slices, void *track);
void trace_thread_slices_add(struct thread_slices *thread, const struct trace_event *event,
                             uint64_t message);
/* Ends what is in progress, and frees it; `thread` may be NULL. */
void trace_thread_slices_end(struct thread_slices *thread, int64_t time);

/* They add arguments to the event that is being made, or to the begin and the end of one slice;
 * each only once. */
void trace_thread_slices_number(struct thread_slices *thread, enum trace_argument argument,
                                int64_t value);
void trace_thread_slices_text(struct thread_slices *thread, enum trace_argument argument,
                              uint64_t id, const char *text);
void trace_thread_slices_comm(struct thread_slices *thread, uint32_t comm);
void trace_thread_slices_site(struct thread_slices *thread, uint32_t site);
void trace_thread_slices_message(struct thread_slices *thread, const struct trace_event *event);
void trace_thread_slices_bytes(struct thread_slices *thread, const struct trace_event *event);
/* What an event tells of its call, other than messages. */
void trace_thread_slices_detail(struct thread_slices *thread, const struct detail *detail);

#endif
