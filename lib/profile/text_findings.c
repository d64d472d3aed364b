/* SPDX-License-Identifier: MIT */
/* See text_parts.h: findings. */
#include "profile/columns.h"
#include "profile/findings.h"
#include "profile/text_parts.h"
#include "profile/units.h"

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

bool text_findings(const struct text *text)
{
    struct profile_findings findings;
    bool good = true;
    if (!profile_findings_find(text->result, &findings))
        return true;
    if (!findings.count)
        fprintf(text->stream, "\nFindings: %s\n",
                profile_findings_need_sites(text->result)
                    ? "most problems cannot be found, because no call sites were recorded\n"
                      "(trace,sites=yes records them)"
                    : "no problems found");
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
