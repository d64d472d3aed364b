/* SPDX-License-Identifier: MIT */
/*
 * mpit: what MPI_T offers. Lists all variables and categories with their values, samples chosen
 * performance variables into a CSV file, and sets control variables before MPI is initialized. It
 * sees what all layers publish; here it joins the stack and follows the beginning and the end.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "lifecycle.h"
#include "mpit_manifest.h"
#include "options.h"
#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

/* ---- The interceptors ------------------------------------------------------------------------ */

static struct layer *layer_of(QMPI_Context context)
{
    int tool_id = 0;
    void *layer = NULL;
    QMPIX_Context_get_tool_id(context, &tool_id);
    QMPI_Context_get_storage(context, tool_id, &layer);
    return layer;
}

static int init_mpi(QMPI_Context context, int *argc, char ***argv)
{
    lifecycle_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    if (result == MPI_SUCCESS)
        lifecycle_run(layer_of(context), true);
    return result;
}

static int init_thread(QMPI_Context context, int *argc, char ***argv, int required, int *provided)
{
    lifecycle_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv,
                                                        required, provided);
    if (result == MPI_SUCCESS)
        lifecycle_run(layer_of(context), true);
    return result;
}

static int finalize(QMPI_Context context)
{
    lifecycle_end(layer_of(context));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

QMPIX_PCONTROL_READER static int pcontrol(QMPI_Context context, const int level, ...)
{
    struct layer *layer = layer_of(context);
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    if (level == 2)
        lifecycle_sample(layer);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

#ifdef MPI_SESSION_NULL
static int session_init(QMPI_Context context, MPI_Info info, MPI_Errhandler errhandler,
                        MPI_Session *session)
{
    struct layer *layer = layer_of(context);
    lifecycle_begin(layer);
    const int result =
        QMPIX_NEXT(context, Session_init)(QMPIX_NEXT_CONTEXT(context), info, errhandler, session);
    if (result == MPI_SUCCESS) {
        int initialized = 0;
        __atomic_add_fetch(&layer->sessions, 1, __ATOMIC_RELAXED);
        PMPI_Initialized(&initialized);
        lifecycle_run(layer, initialized);
    }
    return result;
}

/* The last session's end is that of MPI, unless MPI_Init was called. */
static int session_finalize(QMPI_Context context, MPI_Session *session)
{
    struct layer *layer = layer_of(context);
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (__atomic_sub_fetch(&layer->sessions, 1, __ATOMIC_RELAXED) == 0 && !initialized)
        lifecycle_end(layer);
    return QMPIX_NEXT(context, Session_finalize)(QMPIX_NEXT_CONTEXT(context), session);
}
#endif

/* ---- Joining the stack ----------------------------------------------------------------------- */

static void init(int tool_id)
{
    struct layer *layer = qmpi_allocate(1, sizeof *layer);
    layer->tool_id = tool_id;
    layer->started.session = MPI_T_PVAR_SESSION_NULL;
    pthread_mutex_init(&layer->lock, NULL);
    if (!options_read(layer))
        return;
    tool_file_name_start();
    QMPI_Register_tool_storage(tool_id, layer);
    QMPIX_REGISTER(tool_id, Init, init_mpi);
    QMPIX_REGISTER(tool_id, Init_thread, init_thread);
    QMPIX_REGISTER(tool_id, Finalize, finalize);
    QMPIX_REGISTER(tool_id, Pcontrol, pcontrol);
#ifdef MPI_SESSION_NULL
    QMPIX_REGISTER(tool_id, Session_init, session_init);
    QMPIX_REGISTER(tool_id, Session_finalize, session_finalize);
#endif
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = options_known,
    };
    QMPI_Register_tool_name("mpit", init);
    QMPIX_Register_tool_info("mpit", &info);
}
