/* SPDX-License-Identifier: MIT */
/* See html.h. */
#define _GNU_SOURCE
#include "profile/html.h"

#include "profile/atomic_file.h"
#include "profile/html_parts.h"
#include "profile/json.h"

static void print_part(FILE *stream, int part)
{
    fputs((const char *)html_page[part], stream);
}

static void print_title(FILE *stream, const struct profile_named *runs, size_t count)
{
    html_escape(stream, runs->result->program);
    fputs(count > 1 ? " and other runs: profiles" : ": profile", stream);
}

/* Figures with so many digits suffice for tables and maps; more would be most of the data. */
enum { DIGITS = 6 };

static bool print_data(FILE *stream, const struct profile_named *run)
{
    fputs("<script type=\"application/octet-stream;base64\" data-name=\"", stream);
    html_run_name(stream, run);
    fputs("\">\n", stream);
    FILE *data = html_data_open(stream);
    bool good = data && profile_print_json_rounded(data, run->result, DIGITS);
    if (data)
        good = fclose(data) == 0 && good;
    fputs("</script>\n", stream);
    return good;
}

bool profile_print_html(FILE *stream, const struct profile_named *runs, size_t count)
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
        good = print_data(stream, &runs[i]);
    print_part(stream, 4);
    return good;
}

bool profile_write_html(const struct profile_result *result, const char *path, char **problem)
{
    const struct profile_named run = {path, result, 1};
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_html(output.stream, &run, 1);
    return profile_output_close(&output, good, problem);
}
