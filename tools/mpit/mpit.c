/* SPDX-License-Identifier: MIT */
/*
 * mpit: what MPI_T offers. Lists all variables and categories with their values, samples chosen
 * performance variables into a CSV file, and sets control variables before MPI is initialised. It
 * sees what all layers publish; here it joins the stack and follows the beginning and the end.
 */
#define _GNU_SOURCE
#include "course.h"
#include "file_name.h"
#include "message.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

static struct layer *layers;

/* ---- The interceptors ---------------------------------------------------------------------------
 */

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
    course_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init)(QMPIX_NEXT_CONTEXT(context), argc, argv);
    if (result == MPI_SUCCESS)
        course_run(layer_of(context), true);
    return result;
}

static int init_thread(QMPI_Context context, int *argc, char ***argv, int required, int *provided)
{
    course_begin(layer_of(context));
    const int result = QMPIX_NEXT(context, Init_thread)(QMPIX_NEXT_CONTEXT(context), argc, argv,
                                                        required, provided);
    if (result == MPI_SUCCESS)
        course_run(layer_of(context), true);
    return result;
}

static int finalize(QMPI_Context context)
{
    course_end(layer_of(context));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

QMPIX_PCONTROL_READER static int pcontrol(QMPI_Context context, const int level, ...)
{
    struct layer *layer = layer_of(context);
    QMPIX_Pcontrol_words words;
    QMPIX_PCONTROL_READ(words, level);
    if (level == 2)
        course_sample(layer);
    return QMPIX_NEXT(context, Pcontrol)(QMPIX_NEXT_CONTEXT(context), level,
                                         QMPIX_PCONTROL_PASS(words));
}

#if MPI_VERSION >= 4
static int session_init(QMPI_Context context, MPI_Info info, MPI_Errhandler errhandler,
                        MPI_Session *session)
{
    struct layer *layer = layer_of(context);
    course_begin(layer);
    const int result =
        QMPIX_NEXT(context, Session_init)(QMPIX_NEXT_CONTEXT(context), info, errhandler, session);
    if (result == MPI_SUCCESS) {
        int initialized = 0;
        __atomic_add_fetch(&layer->sessions, 1, __ATOMIC_RELAXED);
        PMPI_Initialized(&initialized);
        course_run(layer, initialized);
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
        course_end(layer);
    return QMPIX_NEXT(context, Session_finalize)(QMPIX_NEXT_CONTEXT(context), session);
}
#endif

/* ---- Joining the stack --------------------------------------------------------------------------
 */

static bool read_word(int tool_id, const char *key, const char *const *words, int *place)
{
    const char *value = words[0];
    QMPIX_Tool_get_option(tool_id, key, &value);
    for (*place = 0; words[*place]; ++*place) {
        if (!strcmp(value, words[*place]))
            return true;
    }
    char *message = qmpi_format("%s=%.100s is not what the option takes\nmend: give %s%s%s%s%s",
                                key, value, words[0], words[2] ? ", " : " or ", words[1],
                                words[2] ? " or " : "", words[2] ? words[2] : "");
    QMPIX_Tool_fail(tool_id, message);
    free(message);
    return false;
}

static bool is_taken(const struct layer *layer, const char *pattern)
{
    bool taken = false;
    char *mine = pattern ? tool_file_name(pattern, layer->tool_id, 0) : NULL;
    for (const struct layer *other = layers; other && mine && strcmp(pattern, "-") != 0;
         other = other->next) {
        char *list = other->output ? tool_file_name(other->output, other->tool_id, 0) : NULL;
        char *csv = other->csv ? tool_file_name(other->csv, other->tool_id, 0) : NULL;
        taken |= (list && !strcmp(mine, list)) || (csv && !strcmp(mine, csv));
        free(list);
        free(csv);
    }
    free(mine);
    return taken;
}

static bool is_bad_name(const struct layer *layer, const char *pattern)
{
    char *name = pattern && *pattern ? tool_file_name(pattern, layer->tool_id, 0) : NULL;
    const bool bad = pattern && !name;
    free(name);
    return bad;
}

static const char *check(const struct layer *layer)
{
    if (is_bad_name(layer, layer->output) || is_bad_name(layer, layer->csv))
        return "output= or csv= is no file name, or holds a % that is none of %r %p %t %h %%\n"
               "mend: give a name; write %% for a percent sign";
    if (is_taken(layer, layer->output) || is_taken(layer, layer->csv) ||
        (layer->output && layer->csv && !strcmp(layer->output, layer->csv)))
        return "another layer of mpit, or another option, writes the same file\nmend: put %t (the "
               "layer's number) into output= and csv=";
    if (layer->globs && !layer->csv)
        return "pvars= chooses what goes into a CSV file, but none is named\nmend: name one with "
               "csv=FILE";
    return NULL;
}

static void init(int tool_id)
{
    static const char *const moments[] = {"init", "finalize", "never", NULL};
    static const char *const formats[] = {"table", "json", NULL};
    int at = 0, format = 0;
    struct layer *layer = qmpi_allocate(1, sizeof *layer);
    layer->tool_id = tool_id;
    layer->started.session = MPI_T_PVAR_SESSION_NULL;
    pthread_mutex_init(&layer->lock, NULL);
    if (!read_word(tool_id, "at", moments, &at) || !read_word(tool_id, "format", formats, &format))
        return;
    layer->at = (enum moment)at;
    layer->json = format == 1;
    QMPIX_Tool_get_option(tool_id, "output", &layer->output);
    QMPIX_Tool_get_option(tool_id, "show", &layer->show);
    QMPIX_Tool_get_option(tool_id, "pvars", &layer->globs);
    QMPIX_Tool_get_option(tool_id, "csv", &layer->csv);
    const char *problem = check(layer);
    if (problem) {
        QMPIX_Tool_fail(tool_id, problem);
        return;
    }
    layer->next = layers;
    layers = layer;
    QMPI_Register_tool_storage(tool_id, layer);
    QMPI_Register_tool_function(tool_id, MPI_INIT_T, (void (*)(void))init_mpi);
    QMPI_Register_tool_function(tool_id, MPI_INIT_THREAD_T, (void (*)(void))init_thread);
    QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, (void (*)(void))finalize);
    QMPI_Register_tool_function(tool_id, MPI_PCONTROL_T, (void (*)(void))pcontrol);
#if MPI_VERSION >= 4
    QMPI_Register_tool_function(tool_id, MPI_SESSION_INIT_T, (void (*)(void))session_init);
    QMPI_Register_tool_function(tool_id, MPI_SESSION_FINALIZE_T, (void (*)(void))session_finalize);
#endif
}

__attribute__((constructor)) static void announce(void)
{
    static const QMPIX_Tool_option options[] = {
        {"at", "finalize", "when variables are listed: init, finalize or never"},
        {"format", "table", "of the list: table or json"},
        {"output", NULL, "list into this file instead of to stderr (%r %p %t %h); -: to stdout"},
        {"show", NULL, "list these names only: GLOB[;GLOB...]"},
        {"csv", NULL, "sample performance variables into this file (%r %p %t %h)"},
        {"pvars", NULL, "sample these names only: GLOB[;GLOB...]"},
        {"set.*", NULL, "set.NAME=VALUE sets a control variable before MPI is initialised"},
        {NULL, NULL, NULL},
    };
    static const QMPIX_Tool_info info = {
        .size = sizeof info,
        .description = "lists, samples and sets the variables of MPI_T",
        .version = QMPI_VERSION,
        .options = options,
    };
    QMPI_Register_tool_name("mpit", init);
    QMPIX_Register_tool_info("mpit", &info);
}
