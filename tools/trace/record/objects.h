/* SPDX-License-Identifier: MIT */
/*
 * The communicators, windows, files and call sites of the program. When an object is first seen, it
 * gets an index, by which events refer to it, and its definition is queued for the writer. An index
 * is never reused. A known index is found without a lock: by the handle of the object, or by the
 * return addresses of the call site.
 */
#ifndef QMPI_TOOL_TRACE_RECORD_OBJECTS_H
#define QMPI_TOOL_TRACE_RECORD_OBJECTS_H

#include "tools/trace/file/definitions.h"
#include "tools/trace/file/event_codec.h"
#include "tools/trace/file/name.h"
#include "tools/trace/layer.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct recorder;

/* ---- Definitions for the writer -------------------------------------------------------------- */

/*
 * A definition describes an object that events refer to by index. A thread that sees an object for
 * the first time queues its definition, without a lock, before it records an event that refers to
 * the object. The writer writes the definitions in the queue before these events. Another thread
 * may find the index of the object earlier; its events may then precede the definition in the file,
 * which makes no difference, because readers read all definitions first.
 */

enum record_definition_kind {
    DEFINES_COMM,
    DEFINES_WINDOW,
    DEFINES_FILE,
    DEFINES_REGION,
    DEFINES_COUNTER,
    DEFINES_SITE
};

/* A frame of a call site, as returned by QMPIX_Address_find. */
struct record_definition_frame {
    const char *library;
    size_t offset;
};

struct record_definition {
    struct record_definition *next;
    enum record_definition_kind kind;
    uint32_t index;
    /* Strings and arrays are allocated with malloc, except those of a site. */
    union {
        struct trace_comm comm;
        struct trace_window window;
        struct trace_file file;
        struct trace_region region;
        struct trace_counter counter;
        struct {
            /* The frames and their definition are never freed. */
            struct record_definition_frame *frames;
            size_t count;
        } site;
    };
};

/* Makes an empty definition. Returns NULL if memory is exhausted. Signal handlers must not call
 * this function. */
struct record_definition *record_definition_make(enum record_definition_kind kind, uint32_t index);

/* Queues a definition, which the queue owns from now on. Any thread and any signal handler may call
 * this function. */
void record_definition_queue(struct layer *layer, struct record_definition *definition);

/* Appends the queued definitions to `out` and empties the queue. Only the writer may call this
 * function. */
void record_definitions_write(struct layer *layer, struct trace_bytes *out);

/* ---- Communicators, windows and files -------------------------------------------------------- */

/* objects_begin determines the rank of this process and the number of processes. From this call to
 * objects_end, the world ranks of the members of communicators can be determined. `session` is a
 * session that is open, or MPI_SESSION_NULL if MPI_Init has initialized MPI. */
void objects_begin(struct layer *layer, MPI_Session session);
void objects_end(struct layer *layer);

/* These functions return the index of the communicator, window or file that is an argument of a
 * call, or TRACE_NONE if it is not known. `argument` is the index of this argument. An object that
 * is seen for the first time is defined if its handle is known to be valid, and not in a signal
 * handler that interrupts recording. For a file, the handle need not be valid, because its
 * definition asks MPI for nothing. A communicator is not defined either while objects_may_ask
 * returns false. */
uint32_t objects_find_comm(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_find_window(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_find_file(struct recorder *recorder, const QMPIX_Call *call, int argument);

/* Returns whether MPI may be queried about the arguments of a call. It must not be queried while
 * the call is carried out, if the layer asks early. */
bool objects_may_ask(const struct recorder *recorder, const QMPIX_Call *call);

/* Defines the communicator that is an argument of a call, if it is not known and the handle is
 * valid. Must be called before the call is carried out. */
void objects_prepare_comm(struct recorder *recorder, const QMPIX_Call *call, int argument);

/* These functions define the communicator, window or file that a call has created, and return its
 * index. They return TRACE_NONE if no object was created in this process, or if it cannot be
 * defined. `argument` is the index of the argument that points to the handle, and `comm` that of
 * the communicator of a window, or -1. */
uint32_t objects_create_comm(struct recorder *recorder, const QMPIX_Call *call, int argument);
uint32_t objects_create_window(struct recorder *recorder, const QMPIX_Call *call, int argument,
                               int comm);
uint32_t objects_open_file(struct recorder *recorder, const QMPIX_Call *call);

/* Does the same for a communicator whose handle is stored at the address `handle` (see
 * argument_word_at). Only the function of `call` is used, of which argument `argument` points to
 * such a handle. */
uint32_t objects_create_comm_at(struct recorder *recorder, const QMPIX_Call *call, int argument,
                                const void *handle);

/* These functions define the object again after MPI_Comm_set_name and MPI_Win_set_name. */
void objects_name_comm(struct recorder *recorder, const QMPIX_Call *call);
void objects_name_window(struct recorder *recorder, const QMPIX_Call *call);

/* These functions are called before and after a call that frees the object to whose handle
 * argument 0 points; see toolkit/handles.h. The second function returns the index of the object if
 * it was freed, and TRACE_NONE otherwise. */
void objects_begin_free(struct recorder *recorder, const QMPIX_Call *call, const QMPIX_Word *word,
                        enum layer_object_kind kind);
uint32_t objects_end_free(struct recorder *recorder, const QMPIX_Word *word, bool has_succeeded);

/* ---- Call sites ------------------------------------------------------------------------------ */

/* A call site is the position in the program at which a call was made. It has one or more frames.
 * Returns the index of the call site of a call, or TRACE_NONE if memory is exhausted. This function
 * takes no lock. */
uint32_t objects_find_site(struct recorder *recorder, const QMPIX_Call *call);

/* Forgets the call sites with an address in a library that was closed. New sites are made for the
 * library that is mapped there next. Any thread may call this function. */
void objects_forget_sites(struct layer *layer, const void *begin, const void *end);

#endif
