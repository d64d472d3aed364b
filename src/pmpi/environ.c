/* SPDX-License-Identifier: MIT */
/* See environ.h. */
#define _GNU_SOURCE
#include "pmpi/environ.h"

#include "pmpi/owner.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char prefix[] = "env.";

/* Returns the variable that an option overrides; NULL: not such an option. */
static const char *variable_of(const struct qmpi_option *option)
{
    return strncmp(option->key, prefix, sizeof prefix - 1) ? NULL : option->key + sizeof prefix - 1;
}

bool qmpi_tool_getenv_wanted(const struct qmpi_layer *layer)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        if (variable_of(&layer->entry->options[i]))
            return true;
    }
    return false;
}

static char *override_for(const void *caller, const char *name)
{
    const struct qmpi_layer *layer = qmpi_pmpi_layer_of(caller);
    for (int i = 0; layer && i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        if (variable && !strcmp(variable, name))
            return layer->entry->options[i].value;
    }
    return NULL;
}

char *qmpi_tool_getenv(const char *name)
{
    char *value = override_for(__builtin_return_address(0), name);
    return value ? value : getenv(name);
}

char *qmpi_tool_secure_getenv(const char *name)
{
    char *value = override_for(__builtin_return_address(0), name);
    return value ? value : secure_getenv(name);
}

static bool is_overridden(const struct qmpi_layer *layer, const char *assignment)
{
    for (int i = 0; i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        const size_t length = variable ? strlen(variable) : 0;
        if (variable && !strncmp(variable, assignment, length) && assignment[length] == '=')
            return true;
    }
    return false;
}

char ***qmpi_tool_environ(struct qmpi_layer *layer)
{
    size_t room = (size_t)layer->entry->option_count + 1, count = 0;
    if (layer->environment)
        return &layer->environment;
    for (char **variable = environ; variable && *variable; variable++)
        room++;
    layer->environment = qmpi_allocate(room, sizeof *layer->environment);
    for (char **variable = environ; variable && *variable; variable++) {
        if (!is_overridden(layer, *variable))
            layer->environment[count++] = *variable;
    }
    for (int i = 0; i < layer->entry->option_count; i++) {
        const char *variable = variable_of(&layer->entry->options[i]);
        if (variable)
            layer->environment[count++] =
                qmpi_format("%s=%s", variable, layer->entry->options[i].value);
    }
    return &layer->environment;
}

struct qmpi_saved_environment {
    int count;
    struct {
        const char *name;
        char *value; /* NULL: it was not set */
    } variables[];
};

struct qmpi_saved_environment *qmpi_tool_getenv_enter(const struct qmpi_layer *layer)
{
    const int options = layer->entry->option_count;
    struct qmpi_saved_environment *saved =
        qmpi_allocate(1, sizeof *saved + (size_t)options * sizeof saved->variables[0]);
    for (int i = 0; i < options; i++) {
        const char *name = variable_of(&layer->entry->options[i]);
        if (!name)
            continue;
        const char *value = getenv(name);
        saved->variables[saved->count].name = name;
        saved->variables[saved->count++].value = value ? qmpi_copy(value) : NULL;
        setenv(name, layer->entry->options[i].value, 1);
    }
    return saved;
}

void qmpi_tool_getenv_leave(struct qmpi_saved_environment *saved)
{
    for (int i = 0; i < saved->count; i++) {
        if (saved->variables[i].value)
            setenv(saved->variables[i].name, saved->variables[i].value, 1);
        else
            unsetenv(saved->variables[i].name);
        free(saved->variables[i].value);
    }
    free(saved);
}
