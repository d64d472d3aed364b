/* SPDX-License-Identifier: MIT */
/* See expect.h. */
#include "expect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS 256
#define LONGEST 512

static FILE *file;
static _Thread_local MPI_Comm current;

void expect_true(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "program: not so: %s\n", what);
    fflush(NULL);
    _Exit(3);
}

void expect_begin(int argc, char **argv)
{
    const char *rank = getenv(getenv("PMI_RANK") ? "PMI_RANK" : "OMPI_COMM_WORLD_RANK");
    expect_true(argc > 1, "a folder was given");
    file = fopen(says("%s/expected.%s", argv[1], rank ? rank : "0"), "w");
    expect_true(file != NULL, "the file of expected lines is open");
}

void expect_on(MPI_Comm comm)
{
    current = comm;
}

const char *says(const char *format, ...)
{
    static _Thread_local char texts[TEXTS][LONGEST];
    static _Thread_local int next;
    char *text = texts[next++ % TEXTS];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(text, LONGEST, format, list);
    va_end(list);
    expect_true(length < LONGEST, "there is room for the text");
    return text;
}

const char *expect_hex(const void *object, size_t size)
{
    char text[64] = "0x";
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 + 2 * i, sizeof text - 2 - 2 * i, "%02x",
                 ((const unsigned char *)object)[i]);
    return says("%s", text);
}

const char *expect_request(const char *seen, const char *fields, MPI_Request request)
{
    return request == MPI_REQUEST_NULL ? fields : says("%s %s=%s", fields, seen, REQUEST(request));
}

static void write_line(const char *function, const char *fields)
{
    char line[LONGEST + 64];
    int length = snprintf(line, sizeof line, "%s", function);
    for (const char *at = fields; *at;) {
        at += strspn(at, " ");
        const int word = (int)strcspn(at, " ");
        if (*at == '@') {
            const MPI_Comm comm = !strncmp(at, "@world", 6)  ? MPI_COMM_WORLD
                                  : !strncmp(at, "@self", 5) ? MPI_COMM_SELF
                                                             : current;
            length += snprintf(line + length, sizeof line - (size_t)length, " comm=%s", COMM(comm));
        } else if (word) {
            length += snprintf(line + length, sizeof line - (size_t)length, " %.*s", word, at);
        }
        expect_true(length < (int)sizeof line - 1, "there is room for the line");
        at += word;
    }
    fprintf(file, "%s\n", line);
    fflush(file);
}

void expect_call(const char *function, int error, const char *fields)
{
    if (error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length_of_text;
        PMPI_Error_string(error, text, &length_of_text);
        fprintf(stderr, "program: %s: %s\n", function, text);
    }
    expect_true(error == MPI_SUCCESS, "the call succeeded");
    write_line(function, fields);
}

void expect_failure(const char *function, int error, const char *fields)
{
    expect_true(error != MPI_SUCCESS, "the call failed");
    write_line(function, says("%s result=%d", fields, error));
}

void expect_init(int argc, char **argv, int *rank, int *size)
{
    expect_begin(argc, argv);
    DO(Init, (&argc, &argv), "");
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(MPI_COMM_WORLD, rank);
    PMPI_Comm_size(MPI_COMM_WORLD, size);
    expect_on(MPI_COMM_WORLD);
}

void expect_finalize(void)
{
    DO(Finalize, (), "");
}
