/* SPDX-License-Identifier: MIT */
/* See members.h. */
#include "tools/profile/result/members.h"

#include <stdlib.h>
#include <string.h>

size_t member_count(const struct member *member, const void *element)
{
    const char *at = (const char *)element + member->count_offset;
    size_t count;
    int frames;
    memcpy(&frames, at, sizeof frames);
    if (member->kind == MEMBER_FRAMES)
        return (size_t)frames;
    memcpy(&count, at, sizeof count);
    return count;
}

void member_set_count(const struct member *member, void *element, size_t count)
{
    char *at = (char *)element + member->count_offset;
    const int frames = (int)count;
    if (member->kind == MEMBER_FRAMES)
        memcpy(at, &frames, sizeof frames);
    else
        memcpy(at, &count, sizeof count);
}

void *member_pointer(const struct member *member, const void *element)
{
    void *pointer;
    memcpy(&pointer, (const char *)element + member->offset, sizeof pointer);
    return pointer;
}

void member_set_pointer(const struct member *member, void *element, const void *pointer)
{
    memcpy((char *)element + member->offset, &pointer, sizeof pointer);
}

void members_free(const struct member_type *type, void *element)
{
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        if (member->kind != MEMBER_TEXT && member->kind < MEMBER_BYTES)
            continue;
        char *pointer = member_pointer(member, element);
        const size_t count = member->type && pointer ? member_count(member, element) : 0;
        for (size_t i = 0; i < count; i++)
            members_free(member->type, pointer + i * member->type->size);
        free(pointer);
    }
}
