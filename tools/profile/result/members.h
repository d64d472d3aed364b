/* SPDX-License-Identifier: MIT */
/*
 * Tables of the members of structures, for code that treats all members alike: JSON, the messages
 * between ranks, and freeing. The tables are in profile_result.c. A new member needs a line there.
 * How a member is merged is defined in merge.c.
 */
#ifndef QMPI_PROFILE_MEMBERS_H
#define QMPI_PROFILE_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum member_kind {
    MEMBER_END,     /* after the last member */
    MEMBER_TEXT,    /* char * */
    MEMBER_INT,     /* int */
    MEMBER_WHOLE,   /* uint64_t */
    MEMBER_REAL,    /* double */
    MEMBER_FLAG,    /* bool; true or left out in JSON */
    MEMBER_BOOLEAN, /* bool; true or false in JSON */
    MEMBER_BITS,    /* uint64_t; a string in JSON, where many readers do not keep 64 bits */
    MEMBER_SPREAD,  /* struct profile_spread */
    MEMBER_CALLS,   /* struct profile_calls; its members become those of the object in JSON */
    MEMBER_BINS,    /* an array of `bins` uint64_t; pairs of index and value in JSON */
    MEMBER_BYTES,   /* a pointer to bytes, or NULL */
    MEMBER_ARRAY,   /* a pointer to elements of `type` */
    MEMBER_FRAMES   /* the same, but their number is an int */
};

struct member {
    enum member_kind kind;
    const char *name; /* in JSON; NULL: it is not in JSON, or not as such */
    size_t offset;
    /* for bytes and arrays: the offset of their number, a size_t (MEMBER_FRAMES: an int) */
    size_t count_offset;
    int bins;
    const struct member_type *type;
    /* In JSON, a text that is NULL, an int that is not above `absent`, another number that is 0,
     * and an empty array are left out. */
    bool is_optional;
    bool is_new; /* Older files may lack it. */
    int absent;  /* the int that stands for a missing member */
    int least;   /* the least valid int */
};

/* A structure, or some members of it that belong together. */
struct member_type {
    size_t size;
    const struct member *members;
};

/* Returns the number of elements of a MEMBER_BYTES, MEMBER_ARRAY or MEMBER_FRAMES. */
size_t member_count(const struct member *member, const void *element);
void member_set_count(const struct member *member, void *element, size_t count);

/* Returns the pointer in a MEMBER_TEXT, MEMBER_BYTES, MEMBER_ARRAY or MEMBER_FRAMES. */
void *member_pointer(const struct member *member, const void *element);
void member_set_pointer(const struct member *member, void *element, const void *pointer);

/* Frees all texts and arrays of an element, but not the element itself. */
void members_free(const struct member_type *type, void *element);

#endif
