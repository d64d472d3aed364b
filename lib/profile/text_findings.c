/* SPDX-License-Identifier: MIT */
/* See text_parts.h: findings. */
#include "profile/columns.h"
#include "profile/findings.h"
#include "profile/text_parts.h"
#include "profile/units.h"

#include <stdio.h>
#include <string.h>

/* Prints words in lines of the width, each behind two spaces. */
static void print_wrapped(const struct text *text, const char *words)
{
    enum { INDENT = 2 };
    const size_t room = (size_t)text->width - INDENT;
    while (*words) {
        size_t length = strlen(words);
        if (length > room) {
            length = room;
            while (length > 1 && words[length] != ' ')
                length--;
        }
        fprintf(text->stream, "  %.*s\n", (int)length, words);
        words += length;
        words += strspn(words, " ");
    }
}

/* Names of files and functions may contain anything. */
static bool print_summary(const struct text *text, const struct profile_finding *finding)
{
    struct columns line;
    columns_start(&line, "l");
    columns_note(&line, "%s", finding->summary);
    return columns_print(&line, text->stream, text->width);
}

/* Of how many processes of MPI_COMM_WORLD the data are missing, as far as is known. */
static size_t count_missing(const struct profile_result *result)
{
    for (size_t i = 0; i < result->communicator_count; i++) {
        const struct profile_communicator *comm = &result->communicators[i];
        if (!strcmp(comm->name, "MPI_COMM_WORLD") && (size_t)comm->size > result->process_count)
            return (size_t)comm->size - result->process_count;
    }
    return 0;
}

static void print_none(const struct text *text)
{
    const size_t missing = count_missing(text->result);
    if (profile_findings_need_sites(text->result))
        fputs("\nFindings: most problems cannot be found, because no call sites were recorded\n"
              "(trace,sites=yes records them)\n",
              text->stream);
    else if (missing)
        fprintf(
            text->stream,
            "\nFindings: most problems cannot be found, because the data of %zu of %zu processes\n"
            "is missing\n",
            missing, missing + text->result->process_count);
    else
        fputs("\nFindings: no problems found\n", text->stream);
}

bool text_findings(const struct text *text)
{
    struct profile_findings findings;
    bool good = true;
    if (!profile_findings_find(text->result, &findings))
        return true;
    if (!findings.count)
        print_none(text);
    else
        fprintf(text->stream, "\nFindings, most time first (%% of the elapsed time, %s)\n",
                units_time(text->result->application.max));
    for (int i = 0; i < findings.count && good; i++) {
        good = print_summary(text, &findings.all[i]);
        print_wrapped(text, findings.all[i].meaning);
        print_wrapped(text, findings.all[i].advice);
    }
    return good;
}
