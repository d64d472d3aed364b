/* SPDX-License-Identifier: MIT */
/* Fuzz target: any text as QMPI_TOOLS. The parsed list must have the properties that
 * config/tool_list.h states. */
#define _GNU_SOURCE
#include "config/conditions.h"
#include "config/tool_list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_tool_list: %s\n", what);
    abort();
}

/* Writes `plain` with the escapes of QMPI_TOOLS. Returns the end of the written text. */
static char *escape(char *to, const char *plain)
{
    for (; *plain; plain++) {
        if (strchr(":,=\\", *plain))
            *to++ = '\\';
        *to++ = *plain;
    }
    return to;
}

static char *write_reserved(char *to, enum qmpi_tool_reserved option, const char *value)
{
    *to++ = ',';
    to = stpcpy(to, qmpi_tool_reserved_name(option));
    *to++ = '=';
    return escape(to, value);
}

static void write_condition(void *data, enum qmpi_tool_reserved option, const char *value)
{
    char **to = data;
    *to = write_reserved(*to, option, value);
}

static char *write_entry(char *to, const struct qmpi_tool_entry *entry)
{
    to = escape(to, entry->name);
    for (int i = 0; i < entry->option_count; i++) {
        *to++ = ',';
        to = escape(to, entry->options[i].key);
        *to++ = '=';
        to = escape(to, entry->options[i].value);
    }
    for (int i = 0; i < QMPI_RESERVED_OPTIONS; i++) {
        const enum qmpi_tool_reserved option = (enum qmpi_tool_reserved)i;
        if (entry->reserved[i] && !qmpi_tool_reserved_is_condition(option))
            to = write_reserved(to, option, entry->reserved[i]);
    }
    qmpi_condition_each(entry, write_condition, &to);
    return to;
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

/* The functions about an entry's conditions must work for every entry. */
static void check_conditions(const struct qmpi_tool_entry *entry)
{
    static const struct qmpi_condition_place places[] = {{-1, NULL, NULL}, {3, "/bin/app", "app"}};
    for (int i = 0; i < 2; i++) {
        char *unmet = qmpi_condition_unmet(entry, &places[i]);
        require(!unmet || qmpi_condition_may_be_unmet(entry), "unmet without a condition");
        free(unmet);
    }
}

/* Tests that an entry is read the same after it is written out with every special character
 * escaped. */
static void check_round_trip(const struct qmpi_tool_entry *entry)
{
    char *text = malloc(2 * strlen(entry->text) + 1);
    require(text != NULL, "out of memory");
    *write_entry(text, entry) = '\0';
    struct qmpi_tool_list again;
    qmpi_tool_list_parse(text, &again);
    require(again.count == 1, "written entry is not one entry");
    require_same(entry, &again.entries[0]);
    qmpi_tool_list_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    require(text != NULL, "out of memory");
    memcpy(text, data, size);
    text[size] = '\0';
    struct qmpi_tool_list list;
    qmpi_tool_list_parse(text, &list);
    for (int i = 0; i < list.count; i++) {
        const struct qmpi_tool_entry *entry = &list.entries[i];
        require(entry->position == i + 1, "positions are not consecutive");
        require(entry->text && *entry->text, "an empty entry");
        require(entry->problem || (entry->name && *entry->name), "neither a name nor a problem");
        for (int k = 0; k < entry->option_count; k++)
            require(*entry->options[k].key && *entry->options[k].key != '@',
                    "a key that is empty or reserved");
        check_conditions(entry);
        if (entry->problem)
            require(strstr(entry->problem, "\nhint: ") != NULL, "a problem without a hint");
        else
            check_round_trip(entry);
    }
    qmpi_tool_list_free(&list);
    free(text);
    return 0;
}
