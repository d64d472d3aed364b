/* SPDX-License-Identifier: MIT */
/* See html.h. */
#define _GNU_SOURCE
#include "profile/html.h"

#include "profile/atomic_file.h"
#include "profile/compare_print.h"
#include "profile/html_parts.h"
#include "profile/json.h"

static void print_part(FILE *stream, int part)
{
    fputs((const char *)html_page[part], stream);
}

static void print_title(FILE *stream, const struct profile_named *runs, size_t count)
{
    const struct profile_result *first = runs->result;
    html_escape(stream, html_base_name(first->program));
    if (count > 1) {
        fprintf(stream, ": %zu runs compared", count);
        return;
    }
    fprintf(stream, ", %d rank%s", first->ranks, first->ranks == 1 ? "" : "s");
    if (first->begin) {
        fputs(", ", stream);
        html_escape(stream, first->begin);
    }
}

/* Figures with so many digits suffice for tables and maps; more would be most of the data. */
enum { DIGITS = 4 };

/* Closes what html_data_open opened; `good`: all was written to it. */
static bool close_data(FILE *data, bool good)
{
    return data && fclose(data) == 0 && good;
}

static bool print_run_data(FILE *stream, const struct profile_named *run)
{
    fputs("<script type=\"application/octet-stream;base64\" data-name=\"", stream);
    html_run_name(stream, run);
    fputs("\">\n", stream);
    FILE *data = html_data_open(stream);
    const bool good =
        close_data(data, data && profile_print_json_rounded(data, run->result, DIGITS));
    fputs("</script>\n", stream);
    return good;
}

static bool print_comparison_data(FILE *stream, const struct profile_comparison *comparison)
{
    fputs("<script type=\"application/octet-stream;base64\" data-comparison>\n", stream);
    FILE *data = html_data_open(stream);
    const bool good = close_data(data, data && profile_print_comparison_json(data, comparison));
    fputs("</script>\n", stream);
    return good;
}

/* Of one run, or of those of a comparison. */
static bool print_page(FILE *stream, const struct profile_named *runs, size_t count,
                       const struct profile_comparison *comparison)
{
    print_part(stream, 0);
    print_title(stream, runs, count);
    print_part(stream, 1);
    html_heading(stream, runs, count);
    print_part(stream, 2);
    html_summary(stream, runs, count);
    print_part(stream, 3);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = print_run_data(stream, &runs[i]);
    good = good && (!comparison || print_comparison_data(stream, comparison));
    print_part(stream, 4);
    return good;
}

bool profile_print_html(FILE *stream, const struct profile_named *run)
{
    return print_page(stream, run, 1, NULL);
}

bool profile_print_comparison_html(FILE *stream, const struct profile_comparison *comparison)
{
    return print_page(stream, comparison->runs, (size_t)comparison->run_count, comparison);
}

bool profile_write_html(const struct profile_result *result, const char *path, char **problem)
{
    const struct profile_named run = {path, result, 1};
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_html(output.stream, &run);
    return profile_output_close(&output, good, problem);
}
