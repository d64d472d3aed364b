/* SPDX-License-Identifier: MIT */
/* Fuzz target: any bytes as a configuration file. The result must have the properties that
 * config/parse.h and config/tool_list.h state. */
#define _GNU_SOURCE
#include "config/conditions.h"
#include "config/parse.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_config: %s\n", what);
    abort();
}

static void check_entry(const struct qmpi_tool_entry *entry, int index)
{
    require(entry->position == index + 1, "positions are not consecutive");
    require(entry->line > 0, "a tool without a line");
    require(entry->section >= 0, "a tool in no section");
    require(entry->text && *entry->text, "a tool without its text");
    require(!entry->problem == !!entry->name, "neither a name nor a problem, or both");
    require(!entry->name || *entry->name, "an empty name");
    if (entry->problem)
        require(strstr(entry->problem, "\nhint: ") != NULL, "a problem without a hint");
    for (int i = 0; i < entry->option_count; i++) {
        require(*entry->options[i].key || entry->problem, "an empty key");
        require(entry->options[i].value != NULL, "an option without a value");
        require(*entry->options[i].key != '@', "an option of ours among the tool's");
    }
}

/* ---- A file that is written from the result must be read back unchanged ---------------------- */

static void write_quoted(FILE *to, const char *plain)
{
    fputc('"', to);
    for (; *plain; plain++) {
        if (*plain == '"' || *plain == '\\')
            fputc('\\', to);
        fputc(*plain, to);
    }
    fputc('"', to);
}

static void write_section(FILE *to, const struct qmpi_config *config, int section, bool *written)
{
    const struct qmpi_config_section *that = &config->sections[section];
    fprintf(to, section < QMPI_SECTION_STACKS ? "[%s]\n" : "[stack %s]\n", that->name);
    if (that->on_error && !written[section])
        fprintf(to, "on-error = %s\n", that->on_error);
    written[section] = true;
}

static void write_reserved(void *to, enum qmpi_tool_reserved option, const char *value)
{
    fprintf(to, " %s = ", qmpi_tool_reserved_name(option));
    write_quoted(to, value);
    fputs("\n", to);
}

static char *write_all(const struct qmpi_config *config, size_t *size)
{
    char *text;
    FILE *to = open_memstream(&text, size);
    require(to != NULL, "out of memory");
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        if (config->settings[i]) {
            fprintf(to, "%s = ", qmpi_config_names[i].key);
            write_quoted(to, config->settings[i]);
            fputc('\n', to);
        }
    }
    bool *written = calloc((size_t)config->section_count, sizeof *written);
    require(written != NULL, "out of memory");
    for (int i = 0, section = QMPI_SECTION_MIDDLE; i < config->tools.count; i++) {
        const struct qmpi_tool_entry *entry = &config->tools.entries[i];
        if (entry->problem)
            continue;
        if (entry->section != section)
            write_section(to, config, entry->section, written);
        section = entry->section;
        write_quoted(to, entry->name);
        fputs(" # a comment\n", to);
        for (int k = 0; k < entry->option_count; k++) {
            fputs("\t", to);
            write_quoted(to, entry->options[k].key);
            fputs(" = ", to);
            write_quoted(to, entry->options[k].value);
            fputs("\r\n", to);
        }
        for (int k = 0; k < QMPI_RESERVED_OPTIONS; k++) {
            const enum qmpi_tool_reserved option = (enum qmpi_tool_reserved)k;
            if (entry->reserved[k] && !qmpi_tool_reserved_is_condition(option))
                write_reserved(to, option, entry->reserved[k]);
        }
        qmpi_condition_each(entry, write_reserved, to);
    }
    for (int i = QMPI_SECTION_MIDDLE + 1; i < config->section_count; i++) {
        if (!written[i])
            write_section(to, config, i, written);
    }
    free(written);
    fclose(to);
    return text;
}

static void require_same_section(const struct qmpi_config_section *one,
                                 const struct qmpi_config_section *other)
{
    require(!strcmp(one->name, other->name), "section lost in writing");
    require(one->on_error ? other->on_error && !strcmp(one->on_error, other->on_error)
                          : !other->on_error,
            "on-error of a section lost in writing");
}

static void require_same(const struct qmpi_tool_entry *one, const struct qmpi_tool_entry *other)
{
    require(!other->problem && !strcmp(one->name, other->name), "name lost in writing");
    require(one->option_count == other->option_count, "options lost in writing");
    for (int i = 0; i < one->option_count; i++) {
        require(!strcmp(one->options[i].key, other->options[i].key), "key lost in writing");
        require(!strcmp(one->options[i].value, other->options[i].value), "value lost in writing");
    }
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++)
        require(one->reserved[i]
                    ? other->reserved[i] && !strcmp(one->reserved[i], other->reserved[i])
                    : !other->reserved[i],
                "an option of ours lost in writing");
}

static void check_round_trip(const struct qmpi_config *config)
{
    struct qmpi_config again;
    size_t size;
    char *text = write_all(config, &size);
    qmpi_config_parse(text, size, "/folder", &again);
    require(again.problem_count == 0, "what was written has problems");
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        require(!config->settings[i] == !again.settings[i], "setting lost in writing");
        if (config->settings[i])
            require(!strcmp(config->settings[i], again.settings[i]), "setting changed in writing");
    }
    int next = 0;
    for (int i = 0; i < config->tools.count; i++) {
        if (config->tools.entries[i].problem)
            continue;
        require(next < again.tools.count, "tool lost in writing");
        require_same_section(&config->sections[config->tools.entries[i].section],
                             &again.sections[again.tools.entries[next].section]);
        require_same(&config->tools.entries[i], &again.tools.entries[next++]);
    }
    require(next == again.tools.count, "a tool too many");
    require(config->section_count == again.section_count, "a section lost in writing");
    qmpi_config_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct qmpi_config config;
    char *text = malloc(size ? size : 1); /* of exactly this size, so that reading beyond it is
                                             detected */
    require(text != NULL, "out of memory");
    memcpy(text, data, size);
    qmpi_config_parse(text, size, "/folder", &config);
    for (int i = 0; i < config.tools.count; i++)
        check_entry(&config.tools.entries[i], i);
    for (int i = 0; i < config.problem_count; i++)
        require(strstr(config.problems[i].problem, "\nhint: ") != NULL, "a problem without a hint");
    check_round_trip(&config);
    qmpi_config_free(&config);
    free(text);
    return 0;
}
