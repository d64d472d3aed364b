/* SPDX-License-Identifier: MIT */
/* See setting_names.h. To add a setting, add a number to the header and a line to the table. */
#include "config/setting_names.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS] = {
    [QMPI_SETTING_TOOL_PATH] = {"tool-path", "QMPI_TOOL_PATH"},
    [QMPI_SETTING_ON_ERROR] = {"on-error", "QMPI_ON_ERROR"},
    [QMPI_SETTING_DEBUG] = {"debug", "QMPI_DEBUG"},
    [QMPI_SETTING_INTERNAL] = {"internal", "QMPI_INTERNAL"},
    [QMPI_SETTING_CLOCK] = {"clock", "QMPI_CLOCK"},
};

/* What the values of a setting are; NULL: any text. */
static const char *const value_choices[QMPI_CONFIG_SETTINGS][3] = {
    [QMPI_SETTING_ON_ERROR] = {"stop", "skip"},
    [QMPI_SETTING_INTERNAL] = {"0", "1"},
    [QMPI_SETTING_CLOCK] = {"tsc", "monotonic"},
};

static const char *key_of(const void *data, int index)
{
    (void)data;
    return index < QMPI_CONFIG_SETTINGS ? qmpi_config_names[index].key : NULL;
}

static char *refuse_key(const char *key)
{
    char *list = qmpi_copy(""), *shown = qmpi_shorten(key);
    for (int i = 0; i < QMPI_CONFIG_SETTINGS; i++) {
        char *longer = qmpi_format("%s%s%s", list, i ? ", " : "", qmpi_config_names[i].key);
        free(list);
        list = longer;
    }
    const char *similar = qmpi_suggest(key, key_of, NULL);
    char *problem = qmpi_message("unknown setting '%s'; the settings are %s\n"
                                 "hint: %s%s%s; write a tool on a line of its own, with its "
                                 "options indented below it",
                                 shown, list, similar ? "did you mean '" : "correct the name",
                                 similar ? similar : "", similar ? "'?" : "");
    free(shown);
    free(list);
    return problem;
}

/* NULL: they are all known. */
static char *refuse_topics(const char *key, const char *list)
{
    while (*list) {
        const size_t length = strcspn(list, ", ");
        if (length && !qmpi_debug_knows(list, length)) {
            char *topic = qmpi_copy_part(list, length), *shown = qmpi_shorten(topic);
            char *problem = qmpi_message(
                "invalid value for '%s': unknown topic '%s'\n" QMPI_TOPICS_HINT, key, shown);
            free(shown);
            free(topic);
            return problem;
        }
        list += length + (list[length] != '\0');
    }
    return NULL;
}

static bool is_choice(int setting, const char *value)
{
    const char *const *choice = value_choices[setting];
    while (*choice && strcmp(*choice, value) != 0)
        choice++;
    return *choice || choice == value_choices[setting];
}

int qmpi_setting_of_variable(const char *variable)
{
    int setting = QMPI_CONFIG_SETTINGS - 1;
    while (setting >= 0 && strcmp(qmpi_config_names[setting].variable, variable) != 0)
        setting--;
    return setting;
}

int qmpi_setting_check(const char *key, const char *value, char **problem)
{
    int setting = QMPI_CONFIG_SETTINGS - 1;
    while (setting >= 0 && strcmp(qmpi_config_names[setting].key, key) != 0)
        setting--;
    if (setting < 0) {
        *problem = refuse_key(key);
    } else if (!is_choice(setting, value)) {
        const char *const *choices = value_choices[setting];
        char *shown = qmpi_shorten(value);
        *problem = qmpi_message("invalid value for '%s': '%s'\n"
                                "hint: set it to %s or %s",
                                key, shown, choices[0], choices[1]);
        free(shown);
        return -1;
    } else if (setting == QMPI_SETTING_DEBUG) {
        *problem = refuse_topics(key, value);
        return *problem ? -1 : setting;
    }
    return setting;
}
