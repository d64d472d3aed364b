/* SPDX-License-Identifier: MIT */
/* See file.h. */
#define _GNU_SOURCE
#include "config/file.h"

#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MAX_READ = 1 << 20 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *path;
static char *text; /* kept: every stack is parsed from it */
static size_t text_size;
static char *unreadable;
static struct qmpi_config config;

/* The stack's variables, in the order in which they are looked at: of MPICH's own two the first one
 * wins there. An empty one is a stack without layers. */
static const char *const stack_variables[] = {"QMPI_TOOLS", "MPIR_CVAR_QMPI_TOOL_LIST",
                                              "MPICH_QMPI_TOOL_LIST"};

/* Returns NULL, or the reason why the file cannot be read. /dev/null is an empty file; pipes are
 * not waited for. */
static const char *read_all(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return strerror(errno);
    if (S_ISDIR(status.st_mode))
        return "a directory";
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
        return "not a regular file";
    text = qmpi_allocate(SIZE_MAX_READ + 1, 1);
    for (;;) {
        const ssize_t got = read(descriptor, text + text_size, SIZE_MAX_READ + 1 - text_size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        text_size += (size_t)got;
        if (text_size > SIZE_MAX_READ)
            return "larger than a megabyte";
        if (got == 0)
            return NULL;
    }
}

static char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? qmpi_copy_part(file, (size_t)(slash - file)) : qmpi_copy(".");
}

static void parse(struct qmpi_config *result)
{
    char *folder = folder_of(path);
    qmpi_config_parse(text, text_size, folder, result);
    free(folder);
}

static void read_file(void)
{
    path = qmpi_getenv("QMPI_CONFIG");
    if (!path)
        return;
    path = qmpi_copy(path); /* the program may change its environment */
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *reason = descriptor < 0 ? strerror(errno) : read_all(descriptor);
    if (descriptor >= 0)
        close(descriptor);
    if (reason) {
        char *shown = qmpi_shorten(path);
        unreadable = qmpi_message("cannot read the file '%s': %s\n"
                                  "hint: name a configuration file in QMPI_CONFIG, or unset it",
                                  shown, reason);
        free(shown);
        text_size = 0;
        return;
    }
    parse(&config);
}

const struct qmpi_config *qmpi_config_get(void)
{
    /* Where no file is named, one may be later: the command's option -c does that. */
    if (qmpi_getenv("QMPI_CONFIG"))
        pthread_once(&once, read_file);
    return &config;
}

const char *qmpi_config_path(void)
{
    qmpi_config_get();
    return path;
}

const char *qmpi_config_unreadable(void)
{
    qmpi_config_get();
    return unreadable;
}

const char *qmpi_setting(const char *variable)
{
    const char *value = qmpi_getenv(variable);
    for (int i = 0; !value && i < QMPI_CONFIG_SETTINGS; i++) {
        if (!strcmp(qmpi_config_names[i].variable, variable))
            value = qmpi_config_get()->settings[i];
    }
    return value && *value ? value : NULL;
}

void qmpi_stack_read(struct qmpi_tool_list *list, const char **source)
{
    for (size_t i = 0; i < sizeof stack_variables / sizeof *stack_variables; i++) {
        *source = stack_variables[i];
        if (secure_getenv(*source)) {
            qmpi_tool_list_parse(qmpi_getenv(*source), list);
            return;
        }
    }
    *source = stack_variables[0];
    *list = (struct qmpi_tool_list){NULL, 0};
    if (!qmpi_config_path() || unreadable)
        return;
    struct qmpi_config again;
    parse(&again);
    *list = again.tools;
    again.tools = (struct qmpi_tool_list){NULL, 0};
    qmpi_config_free(&again);
    *source = path;
}
