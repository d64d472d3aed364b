/* SPDX-License-Identifier: MIT */
/*
 * Members of a JSON document as what they must be. The first thing that is not as it should be is
 * the problem, and everything after it is passed over; the message names the file, the place in
 * the document ("functions[3].time.sum") and what was expected. Ends the process where memory is
 * out.
 */
#ifndef QMPI_PROFILE_JSON_SOURCE_H
#define QMPI_PROFILE_JSON_SOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Where in the document: a member of `parent`, or its element `index` where `key` is NULL. */
struct place {
    const struct place *parent;
    const char *key;
    size_t index;
};

struct reader {
    const char *path;
    char *problem; /* the first one; after it everything else is passed over */
};

/* An object that is being read. */
struct source {
    struct reader *reader;
    struct place place;
    const json_t *object;
};

/* The problem, unless there is one already: at `place` something else was expected than `found`. */
void source_fail(struct reader *reader, const struct place *place, const char *expected,
                 const json_t *found);
void source_fail_member(const struct source *source, const char *key, const char *expected);

/* The member, borrowed; NULL: it is not there, or there is a problem. */
const json_t *source_member(const struct source *source, const char *key);

/* A copy of a string; NULL: a problem, or, of an optional one, it is not there. */
char *source_string(const struct source *source, const char *key);
char *source_optional_string(const struct source *source, const char *key);

/* Numbers: any; whole and not negative; from `least` to INT_MAX; 64 bits in a string. */
double source_real(const struct source *source, const char *key);
uint64_t source_whole(const struct source *source, const char *key);
int source_int(const struct source *source, const char *key, int least);
uint64_t source_bits(const struct source *source, const char *key);

/* A member that is an object. It must not outlive `source`. */
struct source source_object(const struct source *source, const char *key);

/*
 * An array of objects: allocates what holds `size` bytes for each and has `read` fill it. After a
 * problem *count is how many have been begun: zeros where they were not filled.
 */
void *source_array(const struct source *source, const char *key, size_t size, size_t *count,
                   void (*read)(const struct source *source, void *element));

#endif
