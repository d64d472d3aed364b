/* SPDX-License-Identifier: MIT */
/* Messages, output, strings and variables for the subcommands. */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "util/util.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Messages -------------------------------------------------------------------------------- */

void cli_misuse(const struct argp_state *state, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    argp_error(state, "%s", text);
    free(text);
}

void cli_print(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    fputs(text, stdout);
    free(text);
}

/* ---- Output to a FIFO ------------------------------------------------------------------------ */

bool cli_open_fifo(const char *path, int *descriptor)
{
    struct stat status;
    *descriptor = -1;
    if (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode))
        return true;
    *descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (*descriptor >= 0 || errno != ENXIO)
        return true;
    qmpi_printf("cannot write %s: the FIFO has no reader\nhint: name another file with --output",
                path);
    return false;
}

void cli_close_fifo(int descriptor)
{
    if (descriptor >= 0)
        close(descriptor);
}

/* ---- Strings and the environment ------------------------------------------------------------- */

char *cli_escape(const char *text, const char *special)
{
    char *escaped = qmpi_allocate(2 * strlen(text) + 1, 1), *to = escaped;
    for (; *text; text++) {
        if (strchr(special, *text))
            *to++ = '\\';
        *to++ = *text;
    }
    return escaped;
}

char *cli_quote(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./%@";
    char *quoted = qmpi_allocate(4 * strlen(text) + 3, 1), *to = quoted;
    if (*text && !text[strspn(text, plain)])
        return strcpy(quoted, text);
    *to++ = '\'';
    for (; *text; text++)
        to = *text == '\'' ? stpcpy(to, "'\\''") : (*to = *text, to + 1);
    *to = '\'';
    return quoted;
}

char *cli_next_part(const char **list, const char *separators)
{
    const char *part = *list ? *list + strspn(*list, separators) : "";
    const size_t length = strcspn(part, separators);
    *list = part + length;
    return length ? qmpi_copy_part(part, length) : NULL;
}

void cli_set_variable(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        qmpi_printf("cannot set %s: %s", name, strerror(errno));
        exit(2);
    }
}
