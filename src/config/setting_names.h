/* SPDX-License-Identifier: MIT */
/* The settings that a configuration file can contain, and their values. */
#ifndef QMPI_CONFIG_SETTING_NAMES_H
#define QMPI_CONFIG_SETTING_NAMES_H

enum {
    QMPI_SETTING_TOOL_PATH,
    QMPI_SETTING_ON_ERROR,
    QMPI_SETTING_DEBUG,
    QMPI_SETTING_INTERNAL,
    QMPI_SETTING_CLOCK,
    QMPI_CONFIG_SETTINGS
};

/* The name of a setting in a file, and the corresponding environment variable. */
struct qmpi_config_name {
    const char *key;
    const char *variable;
};
extern const struct qmpi_config_name qmpi_config_names[QMPI_CONFIG_SETTINGS];

/* Returns the number of the setting that a variable stands for; -1: none. */
int qmpi_setting_of_variable(const char *variable);

/*
 * Returns the number of the setting. If `key` is unknown or `value` is invalid, returns a negative
 * number and sets *problem to a message with a hint, which the caller frees.
 */
int qmpi_setting_check(const char *key, const char *value, char **problem);

#endif
