/* SPDX-License-Identifier: MIT */
/* See text.h: what tables have in common, and their order. */
#define _GNU_SOURCE
#include "profile/text.h"

#include "profile/atomic_file.h"
#include "profile/columns.h"
#include "profile/text_parts.h"
#include "profile/units.h"
#include "util/util.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t text_shown(const struct text *text, size_t count)
{
    return text->top > 0 && (size_t)text->top < count ? (size_t)text->top : count;
}

void text_rest(const struct text *text, size_t count, const char *what)
{
    const size_t rest = count - text_shown(text, count);
    if (rest)
        fprintf(text->stream, "(%zu more %s)\n", rest, what);
}

void text_add_share(struct columns *columns, const struct text *text, double time)
{
    columns_add(columns, "%s", units_percent(time, text->result->application.sum));
}

bool text_has_share(const char *function)
{
    return strcmp(function, "MPI_Init") != 0 && strcmp(function, "MPI_Init_thread") != 0;
}

void text_add_share_of(struct columns *columns, const struct text *text, const char *function,
                       double time)
{
    if (text_has_share(function))
        text_add_share(columns, text, time);
    else
        columns_add(columns, "-");
}

void text_add_extremes(struct columns *columns, const struct profile_spread *spread)
{
    const double values[] = {spread->min, spread->max};
    const int ranks[] = {spread->min_rank, spread->max_rank};
    for (int i = 0; i < 2; i++) {
        columns_add(columns, "%s", units_time(values[i]));
        if (ranks[i] >= 0)
            columns_add(columns, "%d", ranks[i]);
        else
            columns_add(columns, "%s", "");
    }
}

/* ---- All of it ------------------------------------------------------------------------------- */

bool profile_print_text(FILE *stream, const struct profile_result *result, unsigned sections,
                        const struct profile_layout *layout)
{
    const struct text text = {stream, result, layout->top, layout->width};
#define WANTS(SECTION) (sections & PROFILE_##SECTION)
    return text_head(&text) && text_efficiency(&text) &&
           (!WANTS(OVER_TIME) || text_windows(&text, sections == PROFILE_EVERYTHING)) &&
           (!WANTS(FLIGHTS) || text_flights(&text)) &&
           (!WANTS(FUNCTIONS) || text_all_functions(&text)) &&
           (!WANTS(CALLSITES) || text_callsites(&text)) &&
           (!WANTS(HISTOGRAMS) || text_histograms(&text)) &&
           (!WANTS(MATRIX) || text_matrix(&text)) &&
           (!WANTS(WAITS) || (text_waits(&text) && text_peer_waits(&text))) &&
           (!WANTS(COMMUNICATORS) || text_communicators(&text)) &&
           (!WANTS(FILES) || text_files(&text)) && (!WANTS(REGIONS) || text_regions(&text)) &&
           (!WANTS(PROCESSES) || text_processes(&text));
#undef WANTS
}

int profile_text_width(int descriptor)
{
    struct winsize size;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > PROFILE_TEXT_WIDTH
               ? size.ws_col
               : PROFILE_TEXT_WIDTH;
}

enum { MESSAGE_PREFIX = 6 }; /* "qmpi: " */

/* In one piece, so that other processes' lines do not come in between. */
static bool say(const struct profile_result *result, int top)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    bool good = stream != NULL;
    const locale_t numbers = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const locale_t before = numbers ? uselocale(numbers) : (locale_t)0;
    const struct profile_layout layout = {top, profile_text_width(STDERR_FILENO) - MESSAGE_PREFIX};
    good = good && profile_print_text(stream, result, PROFILE_EVERYTHING, &layout);
    if (stream && fclose(stream) != 0)
        good = false;
    if (good)
        qmpi_print(text);
    if (numbers) {
        uselocale(before);
        freelocale(numbers);
    }
    free(text);
    return good;
}

bool profile_write_text(const struct profile_result *result, const char *path, int top,
                        char **problem)
{
    struct profile_output output;
    *problem = NULL;
    if (!path) {
        if (say(result, top))
            return true;
        *problem = strdup("cannot print the table: out of memory");
        return false;
    }
    if (!profile_output_open(&output, path, problem))
        return false;
    const struct profile_layout layout = {top, PROFILE_TEXT_WIDTH};
    const bool good = profile_print_text(output.stream, result, PROFILE_EVERYTHING, &layout);
    return profile_output_close(&output, good, problem);
}
