/* SPDX-License-Identifier: MIT */
/*
 * See html_parts.h: what the page says without its script, for each run: what ran, the findings and
 * the efficiency. The script adds links to the findings, by their order.
 */
#include "profile/html_parts.h"

#include "profile/efficiency.h"
#include "profile/findings.h"
#include "profile/units.h"

#include <string.h>

/* ---- What ran -------------------------------------------------------------------------------- */

const char *html_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

static void print_element(FILE *stream, const char *tag, const char *attributes, const char *text)
{
    fprintf(stream, "<%s%s>", tag, attributes);
    html_escape(stream, text);
    fprintf(stream, "</%s>\n", tag);
}

void html_run_name(FILE *stream, const struct profile_named *run)
{
    html_escape(stream, run->name);
    if (run->files > 1)
        fprintf(stream, " and %d more", run->files - 1);
}

static void print_row(FILE *stream, const char *name, const char *text)
{
    if (!text || !*text)
        return;
    fputs("<div>", stream);
    print_element(stream, "dt", "", name);
    print_element(stream, "dd", "", text);
    fputs("</div>", stream);
}

static void print_about(FILE *stream, const struct profile_result *result)
{
    fputs("<dl class=\"about\">\n", stream);
    print_row(stream, "program", result->program);
    print_row(stream, "started", result->begin);
    print_row(stream, "MPI", result->mpi);
    print_row(stream, "ended without MPI_Finalize", result->termination);
    fputs("</dl>\n", stream);
}

void html_heading(FILE *stream, const struct profile_named *runs, size_t count)
{
    if (count > 1) {
        fprintf(stream, "<h1>Comparison of %zu runs</h1>\n<p>The first one is the base.</p>\n",
                count);
        return;
    }
    print_element(stream, "h1", "", html_base_name(runs->result->program));
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
        print_figure(stream, "parallel efficiency", text, "100 % is ideal");
    }
    fputs("</dl>\n", stream);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void print_finding(FILE *stream, const struct profile_finding *finding)
{
    fprintf(stream, "<li class=\"finding\" data-kind=\"%s\">", finding->kind);
    print_element(stream, "p", " class=\"what\"", finding->summary);
    print_element(stream, "p", " class=\"meaning\"", finding->meaning);
    print_element(stream, "p", " class=\"advice\"", finding->advice);
    fputs("</li>\n", stream);
}

/* Opens the list: how it is sorted, and of what the percentages are. */
static void print_order(FILE *stream, const struct profile_result *result,
                        const struct profile_findings *findings)
{
    bool has_startup = false;
    for (int i = 0; i < findings->count; i++)
        has_startup = has_startup || strcmp(findings->all[i].kind, "startup") == 0;
    fprintf(stream,
            "<p class=\"hint\">Most time first. The percentage in the first line of a finding is a "
            "share of the elapsed time (%s)%s.</p>\n<ol>\n",
            units_time(result->application.max),
            has_startup ? "; that of MPI_Init is a share of the elapsed time and itself" : "");
}

static void print_findings(FILE *stream, const struct profile_result *result)
{
    struct profile_findings findings = {.count = 0};
    fputs("<section class=\"findings\">\n<h2>Findings</h2>\n", stream);
    if (!profile_findings_find(result, &findings))
        fputs("<p>The profile contains no time.</p>\n", stream);
    else if (!findings.count)
        fprintf(stream, "<p class=\"none\">%s.</p>\n",
                profile_findings_need_sites(result)
                    ? "Most problems cannot be found, because no call sites were recorded "
                      "(trace,sites=yes records them)"
                    : "No problems found");
    else
        print_order(stream, result, &findings);
    for (int i = 0; i < findings.count; i++)
        print_finding(stream, &findings.all[i]);
    fprintf(stream, "%s</section>\n", findings.count ? "</ol>\n" : "");
}

/* ---- Efficiency ------------------------------------------------------------------------------ */

/* Opens an element of the tree. The colour of a meter tells no more than its length. */
static void print_efficiency(FILE *stream, const char *name, double value, const char *note)
{
    const char *percent = units_percent(value, 1);
    fprintf(
        stream,
        "<li><span class=\"name\">%s</span> <meter min=\"0\" max=\"1\" low=\".8\" high=\".8\" "
        "optimum=\"1\" value=\"%.4f\" aria-label=\"%s\"></meter> <strong>%s %%</strong> <small>",
        name, value, name, percent);
    html_escape(stream, note);
    fputs("</small>", stream);
}

static void print_tree(FILE *stream, const struct profile_efficiency *it)
{
    char note[96];
    fputs("<section class=\"efficiency\">\n<h2>Efficiency</h2>\n<p class=\"hint\">POP model: each "
          "figure is the product of those below it. Less than 80 % is marked by another colour "
          "and is worth a look.</p>\n"
          "<ul class=\"tree\">\n",
          stream);
    snprintf(note, sizeof note, "mean rank: %s of %s outside MPI", units_time(it->mean),
             units_time(it->elapsed));
    print_efficiency(stream, "parallel efficiency", it->parallel, note);
    fputs("\n<ul>\n", stream);
    snprintf(note, sizeof note, "mean %s, most %s on rank %d", units_time(it->mean),
             units_time(it->most), it->most_rank);
    print_efficiency(stream, "load balance", it->balance, note);
    if (it->nodes > 1) {
        fputs("\n<ul>\n", stream);
        snprintf(note, sizeof note, "%d nodes", it->nodes);
        print_efficiency(stream, "between nodes", it->between_nodes, note);
        fputs("</li>\n", stream);
        print_efficiency(stream, "within nodes", it->within_nodes, "");
        fputs("</li>\n</ul>", stream);
    }
    fputs("</li>\n", stream);
    snprintf(note, sizeof note, "rank %d: %s of %s outside MPI", it->most_rank,
             units_time(it->most), units_time(it->elapsed));
    print_efficiency(stream, "communication", it->communication, note);
    if (it->has_path) {
        fputs("\n<ul>\n", stream);
        snprintf(note, sizeof note, "rank %d: %s of a critical path of %s", it->most_rank,
                 units_time(it->most), units_time(it->path));
        print_efficiency(stream, "serialisation", it->serialisation, note);
        fputs("</li>\n", stream);
        snprintf(note, sizeof note, "critical path: %s of %s", units_time(it->path),
                 units_time(it->elapsed));
        print_efficiency(stream, "transfer", it->transfer, note);
        fputs("</li>\n</ul>", stream);
    }
    fputs("</li>\n</ul></li>\n</ul>\n</section>\n", stream);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void print_run(FILE *stream, const struct profile_named *run, size_t number, bool is_alone)
{
    struct profile_efficiency efficiency;
    const bool known = profile_efficiency_find(run->result, NULL, &efficiency);
    fprintf(stream, "<article class=\"run\" data-run=\"%zu\">\n", number);
    if (!is_alone) {
        fprintf(stream, "<h2 class=\"run-name\"><span class=\"letter\">%c</span> ",
                (char)('A' + number % 26));
        html_run_name(stream, run);
        fputs("</h2>\n", stream);
        print_about(stream, run->result);
    }
    print_figures(stream, run->result, known ? &efficiency : NULL);
    print_findings(stream, run->result);
    if (known)
        print_tree(stream, &efficiency);
    fputs("</article>\n", stream);
}

void html_summary(FILE *stream, const struct profile_named *runs, size_t count)
{
    fprintf(stream, "<div class=\"runs%s\">\n", count > 1 ? " several" : "");
    for (size_t i = 0; i < count; i++)
        print_run(stream, &runs[i], i, count == 1);
    fputs("</div>\n", stream);
}
