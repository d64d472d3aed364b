/* SPDX-License-Identifier: MIT */
/* See doctor.h. */
#define _GNU_SOURCE
#include "cli/doctor/doctor.h"

#include "util/util.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;
static char *reported; /* the first lines of all problems, with a line feed around each */

void doctor_heading(const char *text)
{
    printf("%s\n", text);
}

static void remember_problem(const char *text)
{
    const int length = (int)strcspn(text, "\n");
    char *longer = qmpi_format("%s%.*s\n", reported ? reported : "\n", length, text);
    free(reported);
    reported = longer;
}

bool doctor_has_reported(const char *line)
{
    char *whole = qmpi_format("\n%s\n", line);
    const bool found = reported && strstr(reported, whole);
    free(whole);
    return found;
}

static void print_finding(const char *mark, const char *format, va_list list)
{
    char *text = qmpi_message_list(format, list);
    bool first = true;
    if (!strcmp(mark, "wrong"))
        remember_problem(text);
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        printf("  %-6s %s%.*s\n", first ? mark : "",
               first || !strncmp(line, "hint: ", 6) ? "" : "  ", (int)length, line);
        line += length + (line[length] == '\n');
        first = false;
    }
    free(text);
}

#define PRINT(mark)                                                                                \
    do {                                                                                           \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        print_finding(mark, format, list);                                                         \
        va_end(list);                                                                              \
    } while (0)

void doctor_ok(const char *format, ...)
{
    PRINT("ok");
}

void doctor_note(const char *format, ...)
{
    PRINT("note");
}

void doctor_wrong(const char *format, ...)
{
    wrong++;
    PRINT("wrong");
}

int doctor_count_wrong(void)
{
    return wrong;
}
