/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: a page in HTML. The C code writes the text that the page shows without its script,
 * for each run: what ran, the loss budget, the findings and the efficiency. The script adds links
 * to the findings, which must therefore be in the same order as in the data.
 */
#define _GNU_SOURCE
#include "tools/profile/result/html.h"

#include "tools/profile/result/finder.h"
#include "tools/profile/result/profile.h"
#include "util/util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *escape_byte(unsigned char byte)
{
    static const char *const entities[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    if (byte < ' ' && byte != '\n' && byte != '\t')
        return QMPI_TEXT_REPLACEMENT;
    return byte < 128 ? entities[byte] : NULL;
}

void html_encode_text(FILE *stream, const char *text)
{
    while (text && *text) {
        const size_t length = qmpi_text_character_length(text);
        const char *other = length ? escape_byte((unsigned char)*text) : QMPI_TEXT_REPLACEMENT;
        if (other)
            fputs(other, stream);
        else
            fwrite(text, 1, length, stream);
        text += length ? length : 1;
    }
}

/* ---- Data ------------------------------------------------------------------------------------ */

#ifndef PROFILE_HAVE_ZLIB

bool profile_html_is_supported(void)
{
    return false;
}

FILE *html_encode_open(FILE *target)
{
    (void)target;
    return NULL;
}

#else

#include <limits.h>
#include <zlib.h>

/* The size of a block is a multiple of three, because three compressed bytes become four
 * characters. */
enum { BLOCK = 3 * 4096, GZIP = 16 };

struct encoder {
    FILE *target;
    z_stream stream;
    unsigned char block[BLOCK];
};

bool profile_html_is_supported(void)
{
    return true;
}

/* Prints up to three bytes as four characters. */
static void print_group(FILE *target, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned bits = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0) |
                          (count > 2 ? bytes[2] : 0);
    putc(digits[bits >> 18], target);
    putc(digits[bits >> 12 & 63], target);
    putc(count > 1 ? digits[bits >> 6 & 63] : '=', target);
    putc(count > 2 ? digits[bits & 63] : '=', target);
}

/* Only the last block may be incomplete, because padding is only allowed at the end of the data. */
static void print_block(struct encoder *encoder)
{
    const size_t length = BLOCK - encoder->stream.avail_out;
    for (size_t i = 0; i < length; i += 3)
        print_group(encoder->target, encoder->block + i, length - i);
    putc('\n', encoder->target);
    encoder->stream.next_out = encoder->block;
    encoder->stream.avail_out = BLOCK;
}

static ssize_t write_encoded(void *cookie, const char *data, size_t size)
{
    struct encoder *encoder = cookie;
    z_stream *stream = &encoder->stream;
    const uInt length = (uInt)(size < INT_MAX ? size : INT_MAX);
    stream->next_in = (z_const Bytef *)(uintptr_t)data;
    stream->avail_in = length;
    while (stream->avail_in) {
        if (deflate(stream, Z_NO_FLUSH) == Z_STREAM_ERROR)
            return 0;
        if (!stream->avail_out)
            print_block(encoder);
    }
    return length;
}

static int close_encoder(void *cookie)
{
    struct encoder *encoder = cookie;
    int result;
    while ((result = deflate(&encoder->stream, Z_FINISH)) == Z_OK || result == Z_BUF_ERROR)
        print_block(encoder);
    print_block(encoder);
    deflateEnd(&encoder->stream);
    free(encoder);
    return result == Z_STREAM_END ? 0 : -1;
}

FILE *html_encode_open(FILE *target)
{
    static const cookie_io_functions_t functions = {.write = write_encoded, .close = close_encoder};
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->target = target;
    encoder->stream.next_out = encoder->block;
    encoder->stream.avail_out = BLOCK;
    if (deflateInit2(&encoder->stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(encoder);
        return NULL;
    }
    FILE *stream = fopencookie(encoder, "w", functions);
    if (!stream) {
        deflateEnd(&encoder->stream);
        free(encoder);
    }
    return stream;
}
#endif

/* ---- The run --------------------------------------------------------------------------------- */

static void print_element(FILE *stream, const char *tag, const char *attributes, const char *text)
{
    fprintf(stream, "<%s%s>", tag, attributes);
    html_encode_text(stream, text);
    fprintf(stream, "</%s>\n", tag);
}

static void print_run_name(FILE *stream, const struct profile_run *run)
{
    html_encode_text(stream, run->name);
    if (run->files > 1)
        fprintf(stream, " and %d more", run->files - 1);
}

static void print_about_row(FILE *stream, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fputs("<div>", stream);
    print_element(stream, "dt", "", name);
    print_element(stream, "dd", "", text);
    fputs("</div>", stream);
}

static void print_programs(FILE *stream, const struct profile_result *result)
{
    const char **programs;
    const size_t count = profile_programs_list(result, &programs);
    for (size_t i = 0; i < count; i++) {
        char *ranks = count > 1 ? profile_programs_ranks(result, programs[i]) : NULL, *name = NULL;
        if (ranks && asprintf(&name, "program of %s", ranks) < 0)
            name = NULL;
        print_about_row(stream, name ? name : "program", programs[i]);
        free(name);
        free(ranks);
    }
    free(programs);
}

static void print_hosts(FILE *stream, const struct profile_result *result)
{
    struct profile_host *hosts;
    char *names = NULL;
    size_t length, count = profile_hosts_list(result, &hosts);
    FILE *list = count ? open_memstream(&names, &length) : NULL;
    for (size_t i = 0; list && i < count; i++)
        fprintf(list, "%s%s (%d rank%s)", i ? ", " : "", hosts[i].name, hosts[i].ranks,
                hosts[i].ranks == 1 ? "" : "s");
    if (list && !fclose(list))
        print_about_row(stream, count > 1 ? "nodes" : "node", names);
    free(names);
    free(hosts);
}

static void print_environment(FILE *stream, const struct profile_result *result)
{
    if (!result->variable_count)
        return;
    fprintf(stream, "<div><dt>settings</dt><dd><details><summary>%zu variable%s</summary><ul>\n",
            result->variable_count, result->variable_count == 1 ? "" : "s");
    for (size_t i = 0; i < result->variable_count; i++) {
        fputs("<li><code>", stream);
        html_encode_text(stream, result->environment[i].name);
        fputs("=", stream);
        html_encode_text(stream, result->environment[i].value);
        fputs("</code></li>\n", stream);
    }
    fputs("</ul></details></dd></div>", stream);
}

static void print_about(FILE *stream, const struct profile_result *result)
{
    fputs("<dl class=\"about\">\n", stream);
    print_programs(stream, result);
    print_about_row(stream, "started", result->begin);
    print_about_row(stream, "user", result->user);
    print_about_row(stream, "job", result->batch_job);
    print_hosts(stream, result);
    print_about_row(stream, "MPI", result->mpi);
    print_environment(stream, result);
    print_about_row(stream,
                    result->termination && profile_result_is_separate(result->termination)
                        ? "each process reported separately"
                        : "ended without MPI_Finalize",
                    result->termination);
    fputs("</dl>\n", stream);
}

/* Returns the command line without the directory of its first word. */
static const char *name_command(const char *command)
{
    const char *name = command;
    for (const char *at = command; *at && *at != ' '; at++)
        name = *at == '/' ? at + 1 : name;
    return name;
}

static void print_names(FILE *stream, const struct profile_result *result)
{
    const char **programs;
    const size_t count = profile_programs_list(result, &programs);
    fputs("<h1>", stream);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", stream);
        html_encode_text(stream, count == 1 && result->command ? name_command(result->command)
                                                               : qmpi_text_base_name(programs[i]));
    }
    fputs("</h1>\n", stream);
    free(programs);
}

static void print_heading(FILE *stream, const struct profile_run *runs, size_t count)
{
    if (count > 1) {
        fprintf(stream, "<h1>Comparison of %zu runs</h1>\n<p>The first one is the base.</p>\n",
                count);
        return;
    }
    print_names(stream, runs->result);
    print_about(stream, runs->result);
}

static void print_figure(FILE *stream, const char *name, const char *value, const char *note)
{
    fprintf(stream, "<div><dt>%s</dt> <dd>%s <small>%s</small></dd></div>\n", name, value, note);
}

static void print_figures(FILE *stream, const struct profile_result *result,
                          const struct profile_efficiency *efficiency)
{
    char text[32], note[64];
    fputs("<dl class=\"figures\">\n", stream);
    print_figure(stream, "elapsed time",
                 units_time(efficiency ? efficiency->elapsed : result->application.max),
                 "from MPI_Init to MPI_Finalize");
    snprintf(text, sizeof text, "%d", result->ranks);
    if (efficiency)
        snprintf(note, sizeof note, "on %d node%s", efficiency->nodes,
                 efficiency->nodes == 1 ? "" : "s");
    print_figure(stream, "ranks", text, efficiency ? note : "");
    snprintf(text, sizeof text, "%s %%", units_percent(result->time.sum, result->application.sum));
    snprintf(note, sizeof note, "%s on all ranks", units_time(result->time.sum));
    print_figure(stream, "in MPI", text, note);
    if (efficiency) {
        snprintf(text, sizeof text, "%s %%", units_percent(efficiency->parallel, 1));
        snprintf(note, sizeof note, "ranks had no processor for %s %%",
                 units_percent(efficiency->no_processor, 1));
        print_figure(stream, "parallel efficiency", text,
                     profile_efficiency_lacks_processors(efficiency) ? note : "100 % is ideal");
    }
    fputs("</dl>\n", stream);
}

/* ---- Loss budget ----------------------------------------------------------------------------- */

static void print_budget_row(FILE *stream, enum profile_budget_part part,
                             const struct profile_budget_item *item)
{
    char place[256] = "";
    fprintf(stream,
            "<tr class=\"budget-%s\"><th scope=\"row\">%s</th><td>%s %%</td><td>%s</td>"
            "<td><meter min=\"0\" max=\"1\"%s value=\"%.4f\" aria-label=\"share\"></meter></td><td "
            "class=\"where\">",
            profile_budget_name(part), profile_budget_describe(part), units_percent(item->share, 1),
            units_time(item->seconds),
            part == PROFILE_BUDGET_USEFUL ? "" : " low=\".05\" high=\".05\" optimum=\"0\"",
            item->share);
    for (int i = 0; i < item->place_count; i++) {
        if (item->places[i].site)
            finder_describe_place(item->places[i].site, place, sizeof place);
        html_encode_text(stream, i ? ", " : "");
        html_encode_text(stream, item->places[i].name);
        html_encode_text(stream, *place ? " at " : "");
        html_encode_text(stream, place);
    }
    fputs("</td></tr>\n", stream);
}

static void print_budget(FILE *stream, const struct profile_result *result)
{
    const double least_share = 0.01;
    struct profile_budget budget;
    enum profile_budget_part order[PROFILE_BUDGET_PARTS];
    struct profile_budget_item rest = {.seconds = 0};
    if (!profile_budget_find(result, &budget))
        return;
    profile_budget_order(&budget, order);
    fprintf(
        stream,
        "<section class=\"budget\">\n<h2>Where the time went</h2>\n<p class=\"hint\">%zu "
        "rank%s times %s: %s. The parts of MPI list the call sites that take most of them.</p>\n"
        "<table>\n",
        result->process_count, result->process_count == 1 ? "" : "s",
        units_time(result->application.max), units_time(budget.total));
    for (int i = 0; i < PROFILE_BUDGET_PARTS; i++) {
        const struct profile_budget_item *item = &budget.items[order[i]];
        if (i && item->share < least_share)
            rest.seconds += item->seconds;
        else
            print_budget_row(stream, order[i], item);
    }
    if (rest.seconds > 0)
        fprintf(stream,
                "<tr><th scope=\"row\">others, less than 1 %% each</th><td>%s "
                "%%</td><td>%s</td><td></td>"
                "<td></td></tr>\n",
                units_percent(rest.seconds, budget.total), units_time(rest.seconds));
    fputs("</table>\n</section>\n", stream);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void print_finding(FILE *stream, const struct profile_finding *finding)
{
    fprintf(stream, "<li class=\"finding\" data-kind=\"%s\">", profile_finding_kind_name(finding));
    print_element(stream, "p", " class=\"what\"", finding->summary);
    print_element(stream, "p", " class=\"meaning\"", finding->meaning);
    print_element(stream, "p", " class=\"advice\"", finding->advice);
    fputs("</li>\n", stream);
}

/* Opens the list, and explains its order and its percentages. */
static void print_order(FILE *stream, const struct profile_result *result,
                        const struct profile_findings *findings)
{
    bool has_startup = false;
    for (int i = 0; i < findings->count; i++)
        has_startup = has_startup || findings->all[i].kind == FINDING_STARTUP;
    fprintf(stream,
            "<p class=\"hint\">Most time first. The percentage in the first line of a finding is a "
            "share of the elapsed time (%s)%s.</p>\n<ol>\n",
            units_time(result->application.max),
            has_startup
                ? "; that of MPI_Init is a share of the elapsed time plus the time of MPI_Init"
                : "");
}

static void print_no_findings(FILE *stream, const struct profile_result *result)
{
    char reason[PROFILE_NONE_SIZE], gap[PROFILE_NONE_SIZE];
    const bool is_good = !profile_findings_describe_gap(result, false, gap, sizeof gap) &&
                         (result->is_filtered || profile_findings_are_unneeded(result));
    profile_findings_describe_none(result, reason, sizeof reason);
    *reason = (char)toupper((unsigned char)*reason);
    fprintf(stream, "<p class=\"%s\">", is_good ? "none" : "none lost");
    html_encode_text(stream, reason);
    fputs(".</p>\n", stream);
}

static void print_findings(FILE *stream, const struct profile_result *result)
{
    struct profile_findings findings = {.count = 0};
    fputs("<section class=\"findings\">\n<h2>Findings</h2>\n", stream);
    if (!profile_findings_find(result, &findings))
        fputs("<p>The profile contains no time.</p>\n", stream);
    else if (!findings.count)
        print_no_findings(stream, result);
    else
        print_order(stream, result, &findings);
    for (int i = 0; i < findings.count; i++)
        print_finding(stream, &findings.all[i]);
    fprintf(stream, "%s</section>\n", findings.count ? "</ol>\n" : "");
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

/* Opens an element of the tree. The colour of the meter contains no additional information. */
static void print_efficiency_item(FILE *stream, const char *name, double value, const char *note)
{
    const char *percent = units_percent(value, 1);
    fprintf(
        stream,
        "<li><span class=\"name\">%s</span> <meter min=\"0\" max=\"1\" low=\".8\" high=\".8\" "
        "optimum=\"1\" value=\"%.4f\" aria-label=\"%s\"></meter> <strong>%s %%</strong> <small>",
        name, value, name, percent);
    html_encode_text(stream, note);
    fputs("</small>", stream);
}

static void print_efficiency_tree(FILE *stream, const struct profile_efficiency *it)
{
    char note[96];
    fputs("<section class=\"efficiency\">\n<h2>Efficiency</h2>\n<p class=\"hint\">POP model: each "
          "figure is the product of those below it. Less than 80 % has another colour and "
          "is worth a look.</p>\n"
          "<ul class=\"tree\">\n",
          stream);
    snprintf(note, sizeof note, "mean rank: %s of %s outside MPI", units_time(it->mean),
             units_time(it->elapsed));
    print_efficiency_item(stream, "parallel efficiency", it->parallel, note);
    fputs("\n<ul>\n", stream);
    snprintf(note, sizeof note, "mean %s, most %s on rank %d", units_time(it->mean),
             units_time(it->most), it->most_rank);
    print_efficiency_item(stream, "load balance", it->balance, note);
    if (it->nodes > 1) {
        fputs("\n<ul>\n", stream);
        snprintf(note, sizeof note, "%d nodes", it->nodes);
        print_efficiency_item(stream, "between nodes", it->between_nodes, note);
        fputs("</li>\n", stream);
        print_efficiency_item(stream, "within nodes", it->within_nodes, "");
        fputs("</li>\n</ul>", stream);
    }
    fputs("</li>\n", stream);
    snprintf(note, sizeof note, "rank %d: %s of %s outside MPI", it->most_rank,
             units_time(it->most), units_time(it->elapsed));
    print_efficiency_item(stream, "communication", it->communication, note);
    if (it->has_path) {
        fputs("\n<ul>\n", stream);
        snprintf(note, sizeof note, "rank %d: %s of a critical path of %s", it->most_rank,
                 units_time(it->most), units_time(it->path));
        print_efficiency_item(stream, "serialisation", it->serialisation, note);
        fputs("</li>\n", stream);
        snprintf(note, sizeof note, "critical path: %s of %s", units_time(it->path),
                 units_time(it->elapsed));
        print_efficiency_item(stream, "transfer", it->transfer, note);
        fputs("</li>\n</ul>", stream);
    }
    fputs("</li>\n</ul></li>\n</ul>\n", stream);
    if (profile_efficiency_lacks_processors(it))
        fprintf(stream,
                "<p class=\"part\">These figures include the %s %% of the time without a "
                "processor.</p>\n",
                units_percent(it->no_processor, 1));
    fputs("</section>\n", stream);
}

static void print_run(FILE *stream, const struct profile_run *run, size_t number, bool is_alone)
{
    struct profile_efficiency efficiency;
    const bool known = profile_efficiency_find(run->result, NULL, &efficiency);
    fprintf(stream, "<article class=\"run\" data-run=\"%zu\">\n", number);
    if (!is_alone) {
        fprintf(stream, "<h2 class=\"run-name\"><span class=\"letter\">%c</span> ",
                (char)('A' + number % 26));
        print_run_name(stream, run);
        fputs("</h2>\n", stream);
        print_about(stream, run->result);
    }
    print_figures(stream, run->result, known ? &efficiency : NULL);
    print_budget(stream, run->result);
    print_findings(stream, run->result);
    if (known)
        print_efficiency_tree(stream, &efficiency);
    fputs("</article>\n", stream);
}

static void print_summary(FILE *stream, const struct profile_run *runs, size_t count)
{
    fprintf(stream, "<div class=\"runs%s\">\n", count > 1 ? " several" : "");
    for (size_t i = 0; i < count; i++)
        print_run(stream, &runs[i], i, count == 1);
    fputs("</div>\n", stream);
}

/* ---- The page -------------------------------------------------------------------------------- */

static void print_page_part(FILE *stream, int part)
{
    fputs((const char *)html_page[part], stream);
}

static void print_title(FILE *stream, const struct profile_run *runs, size_t count)
{
    const struct profile_result *first = runs->result;
    html_encode_text(stream, first->program ? qmpi_text_base_name(first->program) : NULL);
    if (count > 1) {
        fprintf(stream, ": %zu runs compared", count);
        return;
    }
    fprintf(stream, ", %d rank%s", first->ranks, first->ranks == 1 ? "" : "s");
    if (first->begin) {
        fputs(", ", stream);
        html_encode_text(stream, first->begin);
    }
}

/* This precision suffices for tables and maps. With all digits, most of the data would be
 * digits. */
enum { DIGITS = 4 };

/* Closes the stream of html_encode_open. Returns false if this fails, or if `good` is false. */
static bool finish_data(FILE *data, bool good)
{
    return data && fclose(data) == 0 && good;
}

static bool print_run_data(FILE *stream, const struct profile_run *run)
{
    fputs("<script type=\"application/octet-stream;base64\" data-name=\"", stream);
    print_run_name(stream, run);
    fputs("\">\n", stream);
    FILE *data = html_encode_open(stream);
    const bool good =
        finish_data(data, data && profile_json_print_rounded(data, run->result, DIGITS));
    fputs("</script>\n", stream);
    return good;
}

static bool print_comparison_data(FILE *stream, const struct compare_result *comparison)
{
    fputs("<script type=\"application/octet-stream;base64\" data-comparison>\n", stream);
    FILE *data = html_encode_open(stream);
    const bool good = finish_data(data, data && profile_compare_print_json(data, comparison));
    fputs("</script>\n", stream);
    return good;
}

/* Prints the page of one run or, if `comparison` is not NULL, of the runs of a comparison. */
static bool print_page(FILE *stream, const struct profile_run *runs, size_t count,
                       const struct compare_result *comparison)
{
    print_page_part(stream, 0);
    print_title(stream, runs, count);
    print_page_part(stream, 1);
    print_heading(stream, runs, count);
    print_page_part(stream, 2);
    print_summary(stream, runs, count);
    print_page_part(stream, 3);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = print_run_data(stream, &runs[i]);
    good = good && (!comparison || print_comparison_data(stream, comparison));
    print_page_part(stream, 4);
    return good;
}

bool profile_html_print(FILE *stream, const struct profile_run *run)
{
    return print_page(stream, run, 1, NULL);
}

bool profile_compare_print_html(FILE *stream, const struct compare_result *comparison)
{
    return print_page(stream, comparison->runs, (size_t)comparison->run_count, comparison);
}

bool profile_html_write(const struct profile_result *result, const char *path, char **problem)
{
    const struct profile_run run = {path, result, 1};
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_html_print(output.stream, &run);
    return profile_output_close(&output, good, problem);
}
