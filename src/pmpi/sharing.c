/* SPDX-License-Identifier: MIT */
/* See sharing.h. */
#define _GNU_SOURCE
#include "pmpi/sharing.h"

#include "pmpi/copies_made.h"
#include "util/util.h"

#include <stdlib.h>
#include <string.h>

struct sharing {
    const struct qmpi_layer *layer;
    char *text;
};

static void append(struct sharing *sharing, const char *path, const struct qmpi_layer *other)
{
    const char *slash = strrchr(path, '/');
    char *longer = qmpi_format("%s%s%s with layer %d (%s)", sharing->text ? sharing->text : "",
                               sharing->text ? ", " : "", slash ? slash + 1 : path, other->tool_id,
                               other->name);
    free(sharing->text);
    sharing->text = longer;
}

char *qmpi_shares(struct qmpi_closure *closure, int first, const struct qmpi_layer *layer)
{
    struct sharing sharing = {layer, NULL};
    int count;
    int *order = qmpi_closure_visit(closure, first, &count);
    for (int i = 1; i < count; i++) {
        const struct qmpi_elf_loaded *object = &closure->objects[order[i]].object;
        const struct qmpi_group *group = qmpi_group_of(object->image.dynamic);
        if (group && group->layer != layer)
            append(&sharing, qmpi_copies_original(object->name), group->layer);
    }
    free(order);
    return sharing.text;
}
