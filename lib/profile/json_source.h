/* SPDX-License-Identifier: MIT */
/*
 * Reads members of a JSON document with their required types. The first violation becomes the
 * problem, and everything after it is ignored. The message names the file, the place in the
 * document ("functions[3].time.sum") and the expected value. Terminates the process if memory is
 * exhausted.
 */
#ifndef QMPI_PROFILE_JSON_SOURCE_H
#define QMPI_PROFILE_JSON_SOURCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A place in the document: a member of `parent`, or its element `index` if `key` is NULL. */
struct place {
    const struct place *parent;
    const char *key;
    size_t index;
};

struct reader {
    const char *path;
    char *problem; /* the first problem; everything after it is ignored */
};

/* An object that is being read. */
struct source {
    struct reader *reader;
    struct place place;
    const json_t *object;
};

/* Sets the problem, unless one is set already: `expected` instead of `found` at `place`. */
void source_fail(struct reader *reader, const struct place *place, const char *expected,
                 const json_t *found);
void source_fail_member(const struct source *source, const char *key, const char *expected);

/* Returns a member, owned by the document; NULL: missing, or there is a problem. */
const json_t *source_member(const struct source *source, const char *key);

/* Returns a copy of a string; NULL: a problem, or a missing optional string. */
char *source_string(const struct source *source, const char *key);
char *source_optional_string(const struct source *source, const char *key);

/* Numbers: any; whole and not negative; from `least` to INT_MAX; from 0, or `missing`; 64 bits in a
 * string. */
double source_real(const struct source *source, const char *key);
uint64_t source_whole(const struct source *source, const char *key);
int source_int(const struct source *source, const char *key, int least);
int source_optional_int(const struct source *source, const char *key, int missing);
uint64_t source_bits(const struct source *source, const char *key);

/* A member that is an object. It must not outlive `source`. */
struct source source_object(const struct source *source, const char *key);

/*
 * Reads an array of objects: allocates `size` bytes for each, and calls `read` to fill them. After
 * a problem, *count is the number of elements that were started; bytes that were not filled are
 * zero.
 */
void *source_array(const struct source *source, const char *key, size_t size, size_t *count,
                   void (*read)(const struct source *source, void *element));

/* json_read_result.c: reads all members of the document but `schema`, which is set. */
struct profile_result;
void source_result(const struct source *root, struct profile_result *result);

/* json_windows.c: reads the member `windows` of the document. */
struct profile_windows;
void source_windows(const struct source *root, struct profile_windows *windows);

#endif
