/* SPDX-License-Identifier: MIT */
/*
 * A tool like one that was compiled with release 0.1. It includes no current header of qmpi, only
 * copies of declarations in the headers of that release. These copies must never be changed: names,
 * types, numbers of functions, and the layout of nodes and other structures. The tool's references
 * have no symbol versions. An MPI handle is an int or a pointer, so it fits into a long.
 */
#include <stddef.h>
#include <stdio.h>

struct node { /* struct QMPIX_Node */
    void (*function)(void);
    const struct node *next;
    int tool_id;
    int function_id;
    const void *data;
};
typedef const struct node *context; /* QMPI_Context */

struct option { /* QMPIX_Tool_option */
    const char *name;
    const char *default_value;
    const char *help;
};

struct tool_info { /* QMPIX_Tool_info */
    size_t size;
    const char *description;
    const char *version;
    const struct option *options;
    unsigned flags;
    const char *const *provides;
    const char *const *conflicts;
};

enum { MPI_BARRIER_T = 37, MPI_COMM_RANK_T = 87 };

/* These functions have other names in this file, because mpi.h may declare the original names. */
int register_name(const char *name, void (*init)(int)) __asm__("QMPI_Register_tool_name");
int register_function(int tool_id, int function,
                      void (*interceptor)(void)) __asm__("QMPI_Register_tool_function");
int register_storage(int tool_id, void *storage) __asm__("QMPI_Register_tool_storage");
int get_storage(context c, int tool_id, void **storage) __asm__("QMPI_Context_get_storage");
int register_info(const char *name,
                  const struct tool_info *info) __asm__("QMPIX_Register_tool_info");
int get_option(int tool_id, const char *key, const char **value) __asm__("QMPIX_Tool_get_option");
int count_layers(int *count) __asm__("QMPIX_Tool_count");
const char *function_name(int function) __asm__("QMPIX_Function_name");

static int comm_rank(context c, long comm, int *rank)
{
    void *storage = NULL;
    get_storage(c, c->tool_id, &storage);
    int (*next)(context, long, int *) = (int (*)(context, long, int *))c->next->function;
    const int result = next(c->next, comm, rank);
    fprintf(stderr, "trace: first_release %s %s rank %d\n", (const char *)storage,
            function_name(c->function_id), *rank);
    return result;
}

static void init(int tool_id)
{
    static char words[8][32];
    char *word = words[tool_id % 8];
    const char *value = "";
    int layers = 0;
    get_option(tool_id, "word", &value);
    count_layers(&layers);
    snprintf(word, sizeof words[0], "%s of %d", value, layers);
    register_storage(tool_id, word);
    register_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))comm_rank);
}

__attribute__((constructor)) static void announce(void)
{
    static const struct option options[] = {{"word", "default", "is printed"}, {NULL, NULL, NULL}};
    static const struct tool_info info = {.size = sizeof info,
                                          .description = "as release 0.1 compiled it",
                                          .version = "0.1",
                                          .options = options};
    register_name("first_release", init);
    register_info("first_release", &info);
}
