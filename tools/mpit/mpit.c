/* SPDX-License-Identifier: MIT */
/*
 * mpit lists all variables and categories of MPI_T with their values, samples performance variables
 * into a CSV file, and sets control variables before MPI is initialized. It also sees the variables
 * that layers publish. This file contains the interceptors and reads the options.
 */
#define _GNU_SOURCE
#include "generate/build.h"
#include "toolkit/toolkit.h"
#include "tools/mpit/lifecycle.h"
#include "tools/mpit_manifest.h"
#include "util/util.h"

#include <qmpi/qmpi.h>

#include <string.h>
#include <unistd.h>

/* ---- The interceptors ------------------------------------------------------------------------ */

static struct mpit_layer *layer_of(QMPI_Context context)
{
    int tool_id = 0;
    void *layer = NULL;
    QMPIX_Context_get_tool_id(context, &tool_id);
    QMPI_Context_get_storage(context, tool_id, &layer);
    return layer;
}

static int mpit_init(QMPI_Context context, int *argc, char ***argv)
{
    lifecycle_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    if (result == MPI_SUCCESS)
        lifecycle_run(layer_of(context), true);
    return result;
}

static int mpit_init_thread(QMPI_Context context, int *argc, char ***argv, int required,
                            int *provided)
{
    lifecycle_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv,
                                                        required, provided);
    if (result == MPI_SUCCESS)
        lifecycle_run(layer_of(context), true);
    return result;
}

static int mpit_finalize(QMPI_Context context)
{
    lifecycle_end(layer_of(context));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

QMPIX_PCONTROL_READER static int mpit_pcontrol(QMPI_Context context, const int level, ...)
{
    struct mpit_layer *layer = layer_of(context);
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    if (level == 2)
        lifecycle_sample(layer);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

#ifdef MPI_SESSION_NULL
static int mpit_session_init(QMPI_Context context, MPI_Info info, MPI_Errhandler errhandler,
                             MPI_Session *session)
{
    struct mpit_layer *layer = layer_of(context);
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

/* The end of the last session is also the end of MPI, unless MPI_Init was called. */
static int mpit_session_finalize(QMPI_Context context, MPI_Session *session)
{
    struct mpit_layer *layer = layer_of(context);
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (__atomic_sub_fetch(&layer->sessions, 1, __ATOMIC_RELAXED) == 0 && !initialized)
        lifecycle_end(layer);
    return QMPIX_NEXT(context, Session_finalize)(QMPIX_NEXT_CONTEXT(context), session);
}
#endif

/* ---- Options --------------------------------------------------------------------------------- */

static bool read_file_options(struct mpit_layer *layer)
{
    const int tool_id = layer->tool_id;
    if (!tool_option_file(tool_id, "output", &layer->output) ||
        !tool_option_file(tool_id, "csv", &layer->csv))
        return false;
    if (layer->output && layer->csv && !strcmp(layer->output, layer->csv)) {
        QMPIX_Tool_fail(tool_id,
                        "output= and csv= name the same file\nhint: give them different names");
        return false;
    }
    const bool is_stdout = layer->output && !strcmp(layer->output, "-");
    return !(!is_stdout && tool_option_file_is_taken(tool_id, "output", layer->output)) &&
           !tool_option_file_is_taken(tool_id, "csv", layer->csv);
}

/* Reads the options of a layer. If an option is invalid, calls QMPIX_Tool_fail and returns
 * false. */
static bool read_mpit_options(struct mpit_layer *layer)
{
    static const char *const moments[] = {"init", "finalize", "never", NULL};
    static const char *const formats[] = {"table", "json", NULL};
    const int tool_id = layer->tool_id;
    int at = 0, format = 0;
    if (!tool_option_word(tool_id, "at", moments, "give init, finalize or never", &at) ||
        !tool_option_word(tool_id, "format", formats, "give table or json", &format) ||
        !read_file_options(layer))
        return false;
    layer->at = (enum lifecycle_moment)at;
    layer->json = format == 1;
    QMPIX_Tool_get_option(tool_id, "show", &layer->patterns);
    QMPIX_Tool_get_option(tool_id, "pvars", &layer->globs);
    if (layer->globs && !layer->csv) {
        QMPIX_Tool_fail(tool_id, "pvars= selects variables for a CSV file, but no file is named\n"
                                 "hint: name a file with csv=FILE");
        return false;
    }
    return true;
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

static void init_mpit_layer(int tool_id)
{
    struct mpit_layer *layer = qmpi_allocate(1, sizeof *layer);
    layer->tool_id = tool_id;
    layer->started.session = MPI_T_PVAR_SESSION_NULL;
    pthread_mutex_init(&layer->lock, NULL);
    if (!read_mpit_options(layer))
        return;
    tool_output_name_start();
    layer->folder = getcwd(NULL, 0);
    QMPI_Register_tool_storage(tool_id, layer);
    QMPIX_REGISTER(tool_id, Init, mpit_init);
    QMPIX_REGISTER(tool_id, Init_thread, mpit_init_thread);
    QMPIX_REGISTER(tool_id, Finalize, mpit_finalize);
    QMPIX_REGISTER(tool_id, Pcontrol, mpit_pcontrol);
#ifdef MPI_SESSION_NULL
    QMPIX_REGISTER(tool_id, Session_init, mpit_session_init);
    QMPIX_REGISTER(tool_id, Session_finalize, mpit_session_finalize);
#endif
}

__attribute__((constructor)) static void register_tool(void)
{
    static const QMPIX_Tool_option options[] = TOOL_OPTIONS;
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = TOOL_DESCRIPTION,
        .version = QMPI_VERSION,
        .options = options,
    };
    QMPI_Register_tool_name("mpit", init_mpit_layer);
    QMPIX_Register_tool_info("mpit", &info);
}
