/* SPDX-License-Identifier: MIT */
/*
 * Reads the members of a manifest's document with their types. The first violation becomes the
 * problem; nothing that is read after it counts. Missing members are NULL, false or empty.
 */
#ifndef QMPI_MANIFEST_MEMBER_H
#define QMPI_MANIFEST_MEMBER_H

#include "manifest/manifest.h"

#include <jansson.h>
#include <stdbool.h>

/* An object in the document. */
struct member_source {
    char **problem;       /* of the document */
    const char *path;     /* of the file */
    const char *place;    /* of the object: "", or "conflicts[0]." */
    const json_t *object; /* NULL: missing */
};

/* Sets the problem, unless one is set already. */
void member_fail(const struct member_source *source, const char *key, const char *expected);

/* A string without line breaks; an empty one is a violation. */
char *member_text(const struct member_source *source, const char *key);

/* The same, of a member that must be there. */
char *member_required_text(const struct member_source *source, const char *key);

bool member_flag(const struct member_source *source, const char *key);

/* The index of a string in `choices`, which ends with NULL; `missing` if there is no such member.
 * `expected` lists the choices. */
int member_choice(const struct member_source *source, const char *key, const char *const *choices,
                  const char *expected, int missing);

/* An array of strings. */
struct manifest_list member_list(const struct member_source *source, const char *key);

/* Calls `read` for each object of an array. */
void member_each(const struct member_source *source, const char *key,
                 void (*read)(const struct member_source *element, void *data), void *data);

/* A member that is an object; its place is to be freed. */
struct member_source member_object(const struct member_source *source, const char *key);

#endif
