/* SPDX-License-Identifier: MIT */
/* See disable.h. */
#include "config/disable.h"

#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *pattern, const char *text)
{
    return text && fnmatch(pattern, text, 0) == 0;
}

/* ~site~ matches the layers of the site, ~user~ all others. */
static bool is_meant(const char *pattern, const struct qmpi_entry *entry)
{
    const bool site = entry->scope == QMPI_SCOPE_SITE;
    const char *slash = entry->name ? strrchr(entry->name, '/') : NULL;
    if (!strcmp(pattern, "~site~"))
        return site;
    if (!strcmp(pattern, "~user~"))
        return !site;
    return matches(pattern, entry->name ? entry->name : entry->text) ||
           matches(pattern, slash ? slash + 1 : NULL) || matches(pattern, entry->stack);
}

bool qmpi_disable_is_given(void)
{
    return qmpi_getenv("QMPI_DISABLE") != NULL;
}

bool qmpi_disable_matches(const struct qmpi_entry *entry)
{
    const char *list = qmpi_getenv("QMPI_DISABLE");
    bool found = false;
    while (list && *list && !found) {
        const size_t length = strcspn(list, ":");
        char *pattern = qmpi_copy_part(list, length);
        found = length && is_meant(pattern, entry);
        free(pattern);
        list += length + (list[length] == ':');
    }
    return found;
}
