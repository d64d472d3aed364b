/* SPDX-License-Identifier: MIT */
/*
 * Validation of tools (QMPI_VALIDATE=yes, qmpi run --validate). Each layer gets nodes above and
 * below its own ones (dispatch/chain.h), which observe what the layer receives, passes on and
 * returns. The code that compares these is in a library (lib/validator), which is opened only for
 * validation. Other runs need not load it.
 */
#ifndef QMPI_VALIDATE_VALIDATE_H
#define QMPI_VALIDATE_VALIDATE_H

#include "functions/functions.h"

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

/* The file name of that library, in the directory of the installed tools, and the name of its
 * function. */
#define QMPI_VALIDATE_FILE "qmpi-validate.module"
#define QMPI_VALIDATE_START "qmpi_validate_start"

/* The kind of the place at which all calls of PMPI_X arrive. This place belongs to no layer. */
enum { QMPI_VALIDATE_PMPI = 99 };

/* The place of an observer that checks a layer, which is the `data` of the observer. */
struct qmpi_validate_place {
    int tool_id;
    int kind; /* enum qmpi_chain_check, or QMPI_VALIDATE_PMPI */
};

/* The functions and data of libqmpi that the library for validation uses. */
struct qmpi_validate_host {
    int layers;

    /* Prints a message. */
    void (*print)(const char *text);

    /* Returns whether a layer declares that it provides `name`. */
    bool (*declares)(int tool_id, const char *name);

    /* Returns whether registrations in the layer's init failed, which libqmpi itself reports. */
    bool (*misregisters)(int tool_id);

    /* Returns whether an address is in the library of a layer's tool. */
    bool (*contains)(int tool_id, const void *address);

    /* Returns an address in the code of the layer to which a context belongs, or NULL if it is
     * unknown. */
    const void *(*code)(QMPI_Context context);

    /* Redirects references of the library of a layer's tool. `find` returns the new target of a
     * reference to `name`, or NULL if the reference stays as it is. Returns false, and does
     * nothing, if the tool has no library, because it is a QMPI tool in the program itself. */
    bool (*redirect)(int tool_id, void *(*find)(const char *name));

    /* Sets the first address of the library of a layer's tool, and the one after its last. Returns
     * false if the tool has no library. */
    bool (*range)(int tool_id, uintptr_t *start, uintptr_t *end);

    /* Returns the thread level that MPI provides, or -1 if MPI is not initialized or already
     * finalized. */
    int (*thread_level)(void);

    /* Returns whether MPI_Finalize has been carried out. */
    bool (*is_finalized)(void);

    /* Returns the place of a node that checks a layer, or NULL if the context is another node or no
     * node at all. `context` may be any value. */
    const struct qmpi_validate_place *(*place)(QMPI_Context context);

    /* [number]: the function that observes a call and passes it on. It requires a valid context. */
    qmpi_function *const *observing;

    /* See qmpi_call_stack_unwind. */
    int (*unwind)(void **frames, int capacity);
};

/* A function that a layer has registered with QMPIX_Register_finalizer. */
typedef void qmpi_validate_finalizer(int tool_id, uint64_t ticks);

/* The functions of the library for validation that libqmpi uses. */
struct qmpi_validate_module {
    QMPIX_Observer callbacks;    /* of all nodes that check layers */
    qmpi_function *const *below; /* [number]: the function that layers call. It checks the context,
                                    and then calls the function in `observing`. */
    void (*loaded)(int tool_id); /* called when the tool of a layer has been loaded; if it is a QMPI
                                    tool, its init comes next */

    /* Calls a finalizer of a layer, and checks what it does. */
    void (*finalize)(int tool_id, qmpi_validate_finalizer *finalizer, uint64_t ticks);
};

/* Starts validation, and completes `module`. */
typedef void qmpi_validate_starter(const struct qmpi_validate_host *host,
                                   struct qmpi_validate_module *module);

/* Reads QMPI_VALIDATE, and prepares validation if it is requested. Called between qmpi_chain_start
 * and the addition of the first layer. Returns NULL, or a problem, which the caller frees. */
char *qmpi_validate_open(int layers);

/* Tells the library that the tool of a layer has been loaded. If it is a QMPI tool, its init
 * function is called next. */
void qmpi_validate_loaded(int tool_id);

/* Calls a finalizer of a layer, by the library if validation is requested. */
void qmpi_validate_finalize(int tool_id, qmpi_validate_finalizer *finalizer, uint64_t ticks);

#endif
