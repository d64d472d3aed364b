/* SPDX-License-Identifier: MIT */
/* See output_name.h. */
#define _GNU_SOURCE
#include "toolkit/output_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pid_t process; /* 0: the one that asks */

void tool_file_name_start(void)
{
    process = getpid();
}

static void put_conversion(FILE *stream, char conversion, int tool_id, int rank)
{
    char host[256] = "";
    if (conversion == 'h')
        gethostname(host, sizeof host - 1);
    switch (conversion) {
    case 'r':
        fprintf(stream, "%d", rank);
        break;
    case 'p':
        fprintf(stream, "%ld", (long)(process ? process : getpid()));
        break;
    case 't':
        fprintf(stream, "%d", tool_id);
        break;
    case 'h':
        fputs(host, stream);
        break;
    default:
        fputc('%', stream);
    }
}

char *tool_file_name(const char *pattern, int tool_id, int rank)
{
    char *name = NULL;
    size_t length;
    FILE *stream = open_memstream(&name, &length);
    if (!stream)
        return NULL;
    bool good = true;
    for (; *pattern && good; pattern++) {
        if (*pattern != '%') {
            fputc(*pattern, stream);
            continue;
        }
        pattern++;
        good = *pattern && strchr("rpth%", *pattern);
        if (good)
            put_conversion(stream, *pattern, tool_id, rank);
    }
    if (fclose(stream) || !good) {
        free(name);
        return NULL;
    }
    return name;
}

bool tool_file_name_is_per_process(const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern == '%' && pattern[1]) {
            pattern++;
            if (*pattern == 'r' || *pattern == 'p')
                return true;
        }
    }
    return false;
}

bool tool_file_name_is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}
