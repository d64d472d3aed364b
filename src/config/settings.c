/* SPDX-License-Identifier: MIT */
/* See settings.h. */
#include "config/settings.h"

#include "util/util.h"

#include <stdlib.h>
#include <string.h>

const char *qmpi_setting(const char *variable)
{
    const char *value = qmpi_getenv(variable);
    const int setting = qmpi_setting_of_variable(variable);
    int count;
    if (value || setting < 0)
        return value;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    for (int i = count - 1; i >= 0; i--) {
        value = files[i].config.settings[setting];
        if (value && *value &&
            (files[i].scope != QMPI_SCOPE_SITE || setting != QMPI_SETTING_ON_ERROR))
            return value;
    }
    return NULL;
}

/* What a site sets for its own files does not depend on the user. */
const char *qmpi_setting_replaced_by(const struct qmpi_config_file *file, int setting)
{
    const char *variable = qmpi_config_names[setting].variable;
    const bool always = file->scope == QMPI_SCOPE_SITE &&
                        (setting == QMPI_SETTING_ON_ERROR || setting == QMPI_SETTING_TOOL_PATH);
    return !always && qmpi_getenv(variable) ? variable : NULL;
}

static enum qmpi_on_error read_on_error(const char *value)
{
    return !value                   ? QMPI_ON_ERROR_AS_SET
           : !strcmp(value, "skip") ? QMPI_ON_ERROR_SKIP
                                    : QMPI_ON_ERROR_STOP;
}

enum qmpi_on_error qmpi_on_error_in(const struct qmpi_config_file *file, int section)
{
    const char *set = file->config.sections[section].on_error;
    if (set)
        return read_on_error(set);
    if (file->scope != QMPI_SCOPE_SITE)
        return QMPI_ON_ERROR_AS_SET;
    const char *general = file->config.settings[QMPI_SETTING_ON_ERROR];
    return general ? read_on_error(general) : QMPI_ON_ERROR_SKIP;
}

bool qmpi_skips_errors(enum qmpi_on_error on_error)
{
    const char *value = on_error == QMPI_ON_ERROR_AS_SET ? qmpi_setting("QMPI_ON_ERROR") : NULL;
    return on_error == QMPI_ON_ERROR_SKIP || (value && !strcmp(value, "skip"));
}

static void append(char **list, const char *folders)
{
    if (!folders || !*folders)
        return;
    char *longer = qmpi_format("%s%s%s", *list, **list ? ":" : "", folders);
    free(*list);
    *list = longer;
}

char *qmpi_tool_path(void)
{
    const char *variable = qmpi_getenv("QMPI_TOOL_PATH");
    char *list = qmpi_copy("");
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    append(&list, variable);
    for (int i = count - 1; i >= 0; i--) {
        if (!variable || files[i].scope == QMPI_SCOPE_SITE)
            append(&list, files[i].config.settings[QMPI_SETTING_TOOL_PATH]);
    }
    return list;
}
