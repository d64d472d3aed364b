/* SPDX-License-Identifier: MIT */
/* See sites.h. */
#define _GNU_SOURCE
#include "sites.h"

#include "modules.h"
#include "symbols.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct site {
    const void *caller;
    char *text;
    struct site *next;
};

enum { BUCKETS = 1024 };
static struct site *buckets[BUCKETS]; /* only added to: read without the lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *make_text(const void *caller)
{
    char *text = NULL, *module = NULL;
    struct profile_frame frame = {0}, *frames[] = {&frame};
    modules_note((uintptr_t)caller);
    module = strdup(modules_find((uintptr_t)caller, &frame.offset));
    if (!module)
        return NULL;
    frame.module = module;
    profile_symbols_resolve(frames, 1);
    const char *name = *module ? base_name(module) : "?";
    const int length =
        frame.function && frame.file
            ? asprintf(&text, "%s (%s:%d)", frame.function, base_name(frame.file), frame.line)
        : frame.function ? asprintf(&text, "%s (%s+0x%llx)", frame.function, name,
                                    (unsigned long long)frame.offset)
                         : asprintf(&text, "%s+0x%llx", name, (unsigned long long)frame.offset);
    free(frame.function);
    free(frame.file);
    free(module);
    return length < 0 ? NULL : text;
}

static struct site *find(const void *caller, struct site **bucket)
{
    struct site *site = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    while (site && site->caller != caller)
        site = site->next;
    return site;
}

const char *sites_find(const void *caller)
{
    struct site **bucket = &buckets[((uintptr_t)caller ^ (uintptr_t)caller >> 10) % BUCKETS];
    struct site *site = find(caller, bucket);
    if (!caller)
        return "?";
    if (site)
        return site->text;
    pthread_mutex_lock(&lock);
    site = find(caller, bucket);
    if (!site && (site = calloc(1, sizeof *site))) {
        site->caller = caller;
        site->text = make_text(caller);
        if (!site->text)
            site->text = (char *)(uintptr_t) "?";
        site->next = *bucket;
        __atomic_store_n(bucket, site, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return site ? site->text : "?";
}
