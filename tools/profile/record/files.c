/* SPDX-License-Identifier: MIT */
/* See files.h. */
#define _GNU_SOURCE
#include "record/files.h"

#include "layer.h"

#include <stdlib.h>
#include <string.h>

/* From a name to its number. */
struct name_row {
    uint64_t key[2];      /* hash and length: no two names of one run share them */
    int64_t number_after; /* the number + 1; 0: none yet */
};

bool files_make(struct files *files)
{
    *files = (struct files){0};
    return table_make(&files->numbers, 2, sizeof(struct name_row));
}

static int add_name(struct files *files, const char *name)
{
    if (files->count == files->capacity) {
        const int capacity = files->capacity ? 2 * files->capacity : 16;
        struct file_name *all = realloc(files->all, (size_t)capacity * sizeof *all);
        if (!all)
            return -1;
        files->all = all;
        files->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return -1;
    files->all[files->count] = (struct file_name){.name = copy};
    return files->count++;
}

static int number_of(struct files *files, const char *name)
{
    const uint64_t key[2] = {table_hash_text(name), strlen(name)};
    struct name_row *row = table_get(&files->numbers, key, 2);
    if (!row)
        return -1;
    if (!row->number_after)
        row->number_after = add_name(files, name) + 1;
    return (int)row->number_after - 1;
}

void files_open(struct layer *layer, MPI_File handle, const char *name, bool counted)
{
    struct files *files = &layer->files;
    pthread_mutex_lock(&layer->lock);
    const int number = number_of(files, name);
    const bool good = number >= 0 && handles_set(&files->handles, HANDLE_WORD(handle), number);
    if (good && counted)
        files->all[number].opens++;
    pthread_mutex_unlock(&layer->lock);
    if (!good)
        threads_out_of_memory(layer->tool_id);
}

int files_begin_close(struct layer *layer, MPI_File file)
{
    const int number = files_find(&layer->files, file);
    if (number < 0)
        return -1;
    pthread_mutex_lock(&layer->lock);
    handles_remove(&layer->files.handles, HANDLE_WORD(file));
    pthread_mutex_unlock(&layer->lock);
    return number;
}

void files_sum(const struct layer *layer, int number, struct stats *sum)
{
    for (const struct thread *thread = threads_first(layer->tool_id); thread;
         thread = thread->next) {
        const struct numbered_row *row = table_seek(&thread->files, (uint64_t)number);
        if (row)
            stats_add(sum, &row->stats);
    }
}
