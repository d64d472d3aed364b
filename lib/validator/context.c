/* SPDX-License-Identifier: MIT */
/* See context.h. */
#define _GNU_SOURCE
#include "validator/context.h"

#include "dispatch/dispatch.h"
#include "util/util.h"
#include "validator/fault.h"
#include "validator/visit.h"

#include <stdlib.h>
#include <unistd.h>

qmpi_function *const *context_observing;

static const struct qmpi_validate_host *host;

void context_start(const struct qmpi_validate_host *given)
{
    host = given;
    context_observing = given->observing;
}

QMPI_Context context_right(int tool_id, int number)
{
    void (*function)(void);
    QMPI_Context next = NULL;
    QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)number, &function, &next);
    return next;
}

/* Returns the layer whose code makes the current call, or 0 if it is not found. */
static int find_caller(const struct visit *visit)
{
    enum { DEPTH = 32 };
    void *frames[DEPTH];
    if (visit && !visit->below)
        return visit->tool_id;
    const int count = host->unwind(frames, DEPTH);
    for (int i = 0; i < count; i++) {
        for (int tool_id = 1; tool_id <= host->layers; tool_id++) {
            if (host->contains(tool_id, frames[i]))
                return tool_id;
        }
    }
    return 0;
}

static _Noreturn void end_process(const char *what, const char *name)
{
    char *text = qmpi_message("validation: %s is called with %-s, by code of no layer\n"
                              "  hint: pass QMPIX_NEXT_CONTEXT(context), or the context that "
                              "QMPI_Get_function returned",
                              name, what);
    host->print(text);
    _exit(1);
}

QMPI_Context context_check(QMPI_Context context, int number)
{
    const struct qmpi_validate_place *place = context ? host->place(context) : NULL;
    if (place && (place->kind == QMPI_CHECK_BELOW || place->kind == QMPI_CHECK_OWN))
        return context; /* The observer checks whether it is that of another layer or function. */
    const struct visit *visit = visit_innermost(__builtin_frame_address(0));
    const int caller = find_caller(visit);
    const char *const name = QMPIX_Function_name((enum QMPI_Functions_enum)number);
    const char *const what = !context ? "NULL in place of a context"
                             : place  ? "the context of another layer"
                                      : "a context that no layer has";
    const QMPI_Context right = caller ? context_right(caller, number) : NULL;
    const QMPIX_Function *function;
    if (!right || QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) != 0)
        end_process(what, name);
    char *detail = qmpi_format("passes %s to the next %s", what, name);
    fault_report(&(struct fault){.kind = context && place ? FAULT_OTHER_CONTEXT : FAULT_NO_CONTEXT,
                                 .tool_id = caller,
                                 .function = function,
                                 .context = visit && !visit->below ? visit->context : NULL,
                                 .calls = true,
                                 .detail = detail});
    free(detail);
    return right;
}
