/* SPDX-License-Identifier: MIT */
/* The slices of the calls of a thread, of perfetto_parts.h: what is held of them, and the arguments
 * of calls. */
#ifndef QMPI_TRACE_PERFETTO_THREAD_H
#define QMPI_TRACE_PERFETTO_THREAD_H

#include "trace/perfetto_parts.h"

struct detail {
    struct trace_event event;
    uint64_t message;
};

struct details {
    struct detail *all;
    size_t count, room;
};

struct perfetto_thread {
    struct perfetto_output *output;
    const struct trace_process *process;
    struct perfetto_sequence sequence;
    struct trace_event enter; /* that has not been written yet */
    bool has_enter;
    struct details details; /* of `enter`, or of the end that comes */
    uint64_t depth;
    uint32_t used[32], used_by_instant; /* by depth: the annotations that an event has */
    uint32_t *use;                      /* of the event that is being made */
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
enum { TEXT_ANY = 1, TEXT_NULL, TEXT_UNFINISHED, TEXT_FIRST = 16 };
enum text_kind { TEXT_COMM, TEXT_SITE, TEXT_WINDOW, TEXT_FILE, TEXT_FUNCTION, TEXT_KINDS = 8 };

/* The iid of a text. */
uint64_t perfetto_thread_text(enum text_kind kind, uint32_t index);

/* They add annotations to the event that is being made, or to the begin and the end of one slice;
 * each only once. */
void perfetto_thread_annotate(struct perfetto_thread *thread, enum annotation name, int64_t value);
void perfetto_thread_annotate_text(struct perfetto_thread *thread, enum annotation name,
                                   uint64_t iid, const char *text);
void perfetto_thread_annotate_comm(struct perfetto_thread *thread, uint32_t comm);
void perfetto_thread_annotate_site(struct perfetto_thread *thread, uint32_t site);
void perfetto_thread_annotate_message(struct perfetto_thread *thread,
                                      const struct trace_event *event);
void perfetto_thread_annotate_bytes(struct perfetto_thread *thread,
                                    const struct trace_event *event);
/* What an event tells of its call, other than messages. */
void perfetto_thread_annotate_detail(struct perfetto_thread *thread, const struct detail *detail);

#endif
