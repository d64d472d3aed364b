/* SPDX-License-Identifier: MIT */
/*
 * Calls every entry of libqmpi, MPI_X and PMPI_X, with distinctive arguments. QMPI_TOOLS lists
 * LAYERS tools (`witness` and, in tests/mpich, `cross`), and the echo library takes the place of
 * the MPI library. Each layer and the echo library must receive each argument unchanged. The
 * application and each layer must get the result of the layer or library below them. PMPI_X must
 * reach no layer. libqmpi answers some functions of MPI_T itself: see reaches_library.
 *
 *     every_entry LAYERS          in one process, in the order of the numbers
 *     every_entry LAYERS first    each call as the first MPI call of a process of its own
 */
#include "every_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int layers;
static int line;
static bool all_good = true;

int layer_count(void)
{
    return layers;
}

void report(bool good, const char *name)
{
    all_good = all_good && good;
    printf("%s %d - %s\n", good ? "ok" : "not ok", ++line, name);
}

int arrive(QMPI_Context context, enum QMPI_Functions_enum number)
{
    int tool_id = -2;
    QMPIX_Context_get_tool_id(context, &tool_id);
    witness_arrive(tool_id, QMPIX_Function_name(number));
    if (context->function_id != (int)number)
        witness_wrong("the context is that of %s",
                      QMPIX_Function_name((enum QMPI_Functions_enum)context->function_id));
    return tool_id;
}

static void init(int tool_id)
{
    for (int i = 0; i < every_entry_count; i++)
        QMPI_Register_tool_function(tool_id, every_entry[i].number, every_entry[i].layer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("witness", init);
}

/* Returns whether libqmpi passes calls of a function on unchanged. It does not for most functions
 * of MPI_T, which tests/mpit checks. */
static bool is_passed_on(const char *name)
{
    static const char *const names[] = {"callback_get_info", "callback_set_info",  "copy",
                                        "get_source",        "get_timestamp",      "handle_free",
                                        "handle_get_info",   "handle_set_info",    "read",
                                        "register_callback", "set_dropped_handler"};
    if (strncmp(name, "MPI_T_event_", 12) != 0)
        return strncmp(name, "MPI_T_", 6) != 0;
    size_t i = 0;
    while (i < sizeof names / sizeof *names && strcmp(name + 12, names[i]) != 0)
        i++;
    return i < sizeof names / sizeof *names;
}

/* Returns whether the call must reach the MPI library. In a stack with layers, src/mpit answers
 * some functions of MPI_T itself. Of the calls by their PMPI names, it answers only
 * PMPI_T_init_thread and PMPI_T_finalize, because it counts the users of MPI_T. */
static bool reaches_library(const char *name, bool pmpi)
{
    if (!layers || is_passed_on(name))
        return true;
    return pmpi && strcmp(name, "MPI_T_init_thread") != 0 && strcmp(name, "MPI_T_finalize") != 0;
}

static bool call_here(const struct every_entry *entry, bool pmpi)
{
    witness_begin(entry->name, pmpi ? 0 : layers, reaches_library(entry->name, pmpi));
    if (layers && !pmpi && strstr(entry->name, "inalize"))
        witness_ignore("MPI_T_init_thread"); /* libqmpi calls it so that its variables outlive
                                                MPI_Finalize */
    entry->call(pmpi);
    return witness_end() == 0;
}

static bool call_in_child(const struct every_entry *entry, bool pmpi)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const bool good = call_here(entry, pmpi);
        fflush(stdout);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || WIFSIGNALED(status)) {
        printf("# %s: killed by signal %d\n", entry->name, WTERMSIG(status));
        return false;
    }
    return status == 0;
}

int main(int count, char **arguments)
{
    const bool first = count > 2 && !strcmp(arguments[2], "first");
    layers = count > 1 ? atoi(arguments[1]) : 0;
    for (int i = 0; i < every_entry_count; i++) {
        for (int pmpi = 0; pmpi <= 1; pmpi++) {
            char name[128];
            snprintf(name, sizeof name, "%s%s", pmpi ? "P" : "", every_entry[i].name);
            report(first ? call_in_child(&every_entry[i], pmpi) : call_here(&every_entry[i], pmpi),
                   name);
        }
    }
    if (!first)
        check_pcontrol_forms();
    printf("# %d functions under %d layers\n1..%d\n", every_entry_count, layers, line);
    return all_good ? 0 : 1;
}
