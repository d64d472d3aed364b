/* SPDX-License-Identifier: MIT */
/* Finds layers that cannot be used together. Tools declare conflicts in QMPIX_Tool_info, layers by
 * QMPIX_Tool_declare. */
#include "registry/registry.h"

#include "process/process.h"
#include "util/util.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { KNOWN_FLAGS = QMPIX_TOOL_COMMUNICATES };

struct name_list {
    char **names;
    int count;
};

/* Arguments of QMPIX_Tool_declare. */
static struct {
    unsigned flags;
    struct name_list provides, conflicts;
} declared[QMPI_LAYERS_MAX + 1]; /* [tool_id] */

/* Gives a member of a description, or 0 if the tool was compiled with an earlier header that lacks
 * this member. */
#define MEMBER(info, member)                                                                       \
    ((info) && (info)->size >= offsetof(QMPIX_Tool_info, member) + sizeof(info)->member            \
         ? (info)->member                                                                          \
         : 0)

static const QMPIX_Tool_info *info_of(const struct qmpi_layer *layer)
{
    return layer->tool ? layer->tool->info : NULL;
}

/* ---- Declaring ------------------------------------------------------------------------------- */

static bool are_valid_names(const char *const *names)
{
    for (; names && *names; names++) {
        if (!**names)
            return false;
    }
    return true;
}

static void add_names(struct name_list *list, const char *const *names)
{
    for (; names && *names; names++) {
        list->names = qmpi_memory_grow(list->names, list->count, sizeof *list->names);
        list->names[list->count++] = qmpi_copy(*names);
    }
}

int QMPIX_Tool_declare(int tool_id, unsigned flags, const char *const *provides,
                       const char *const *conflicts)
{
    const bool is_valid = !(flags & ~(unsigned)KNOWN_FLAGS) && are_valid_names(provides) &&
                          are_valid_names(conflicts);
    const int error = qmpi_layer_check_registration(__func__, tool_id, is_valid);
    if (error != MPI_SUCCESS)
        return error;
    declared[tool_id].flags |= flags;
    add_names(&declared[tool_id].provides, provides);
    add_names(&declared[tool_id].conflicts, conflicts);
    return MPI_SUCCESS;
}

/* ---- Two layers ------------------------------------------------------------------------------ */

/* Returns the name of the layer's tool, which the caller frees. */
static char *tool_name(const struct qmpi_layer *layer)
{
    return layer->tool ? qmpi_copy(layer->tool->name) : qmpi_object_tool_name(layer->path);
}

static const char *find_provided(const struct qmpi_layer *layer, const char *pattern)
{
    const struct name_list *list = &declared[layer->tool_id].provides;
    const char *const *names = MEMBER(info_of(layer), provides);
    for (; names && *names; names++) {
        if (!fnmatch(pattern, *names, 0))
            return *names;
    }
    for (int i = 0; i < list->count; i++) {
        if (!fnmatch(pattern, list->names[i], 0))
            return list->names[i];
    }
    return NULL;
}

bool qmpi_registry_declares(int tool_id, const char *name)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    return layer && find_provided(layer, name);
}

/* Returns a text about the property of the layer that matches the pattern, which the caller frees,
 * or NULL if there is none. */
static char *match_pattern(const struct qmpi_layer *layer, const char *pattern)
{
    char *name = tool_name(layer);
    const bool is_meant = !fnmatch(pattern, name, 0);
    const char *capability = find_provided(layer, pattern);
    const char *service = qmpi_service_matching(layer->tool_id, pattern);
    char *reason = is_meant     ? qmpi_message("is the tool %s", name)
                   : capability ? qmpi_message("provides '%s'", capability)
                   : service    ? qmpi_message("offers the service '%s'", service)
                                : NULL;
    free(name);
    return reason;
}

/* Returns the reason why `one` excludes `other`, which the caller frees, or NULL if it does not. */
static char *explain_exclusion(const struct qmpi_layer *one, const struct qmpi_layer *other)
{
    const struct name_list *list = &declared[one->tool_id].conflicts;
    const char *const *patterns = MEMBER(info_of(one), conflicts);
    const char *pattern = NULL;
    char *reason = NULL;
    for (; patterns && *patterns && !reason; patterns++)
        reason = match_pattern(other, pattern = *patterns);
    for (int i = 0; i < list->count && !reason; i++)
        reason = match_pattern(other, pattern = list->names[i]);
    if (!reason)
        return NULL;
    char *text = qmpi_message("layer %d cannot be used together with '%s', and layer %d %-s",
                              one->tool_id, pattern, other->tool_id, reason);
    free(reason);
    return text;
}

static bool is_forced(const struct qmpi_layer *layer)
{
    const char *value = layer->entry->reserved[QMPI_RESERVED_FORCE];
    return value && !strcmp(value, "yes");
}

static char *check_pair(const struct qmpi_layer *upper, const struct qmpi_layer *lower)
{
    char *reason = explain_exclusion(upper, lower);
    if (!reason)
        reason = explain_exclusion(lower, upper);
    if (!reason)
        return NULL;
    char *name = tool_name(upper), *source = qmpi_tool_entry_source(lower->entry), *problem = NULL;
    if (is_forced(upper) || is_forced(lower))
        qmpi_debug(QMPI_TOPIC_LOAD, "layers %d and %d conflict, but @force=yes is given: %s",
                   upper->tool_id, lower->tool_id, reason);
    else
        problem = qmpi_message(
            "tool %s, layer %d, conflicts with tool %s, layer %d (%s): %-s\n"
            "hint: list only one of the two; if you know that they work together, give one of them "
            "the option @force=yes",
            name, upper->tool_id, lower->name, lower->tool_id, source, reason);
    free(source);
    free(name);
    free(reason);
    return problem;
}

/* ---- Layers that must be active everywhere --------------------------------------------------- */

static char *check_condition(const struct qmpi_layer *layer)
{
    const unsigned flags = MEMBER(info_of(layer), flags) | declared[layer->tool_id].flags;
    if (!(flags & QMPIX_TOOL_COMMUNICATES) || is_forced(layer))
        return NULL;
    return qmpi_condition_refuse_communicating(layer->entry, layer->tool->name);
}

/* Returns whether any layer so far declares conflicts. Usually none does, and pairs need not be
 * compared. */
static bool any_declares_conflicts(const struct qmpi_layer *added)
{
    static bool any;
    const char *const *patterns = MEMBER(info_of(added), conflicts);
    any = any || (patterns && *patterns) || declared[added->tool_id].conflicts.count;
    return any;
}

char *qmpi_registry_check_conflicts(const struct qmpi_layer *layer)
{
    char *problem = check_condition(layer);
    if (!any_declares_conflicts(layer))
        return problem;
    const struct qmpi_layer *lower;
    for (int tool_id = layer->tool_id + 1; !problem && (lower = qmpi_layer_get(tool_id));
         tool_id++) {
        if (lower->ready)
            problem = check_pair(layer, lower);
    }
    return problem;
}
