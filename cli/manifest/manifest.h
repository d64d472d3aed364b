/* SPDX-License-Identifier: MIT */
/*
 * A manifest describes in a file NAME.json what a tool does and needs, so that the command need not
 * load the tool to find this out. docs/run/qmpi-manifest-1.schema.json describes the format.
 * libqmpi itself reads no manifests. All functions terminate the process if memory is exhausted.
 */
#ifndef QMPI_MANIFEST_MANIFEST_H
#define QMPI_MANIFEST_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

enum manifest_kind { MANIFEST_KIND_UNKNOWN = -1, MANIFEST_QMPI, MANIFEST_PMPI, MANIFEST_MPICH };
enum manifest_place { MANIFEST_ANYWHERE, MANIFEST_APPLICATION, MANIFEST_MPI };

struct manifest_list {
    char **items;
    int count;
};

/* An option of the tool, or an environment variable that it reads. */
struct manifest_option {
    char *name;
    char *default_value; /* NULL if it has none */
    char *help;          /* NULL if it has none */
};

struct manifest_options {
    struct manifest_option *items;
    int count;
};

/* The position of the other tool in the stack at which there is a conflict. */
enum manifest_position { MANIFEST_AT_ANY_POSITION, MANIFEST_UPPER, MANIFEST_LOWER };

struct manifest_conflict {
    char *tool;     /* a pattern, as in the shell, for the name of the other tool */
    char *reason;   /* NULL if none is given */
    bool preloaded; /* there is a conflict only if one of the two is preloaded */
    enum manifest_position position;
};

/* The strings `path`, `name` and `description` are never NULL. All lists may be empty. */
struct manifest {
    char *path;                     /* the manifest's file */
    char *name;                     /* the name of the tool */
    char *description;              /* one line */
    struct manifest_list libraries; /* patterns; if empty, the manifest's file name counts */
    struct manifest_list defines;   /* symbols that only a library of this tool defines */
    enum manifest_kind kind;
    struct manifest_list mpi; /* the MPIs that it was built for: mpich, openmpi, abi */
    struct manifest_options options, environment;
    enum manifest_place place;
    char *place_reason;
    struct manifest_list needed_tools; /* patterns */
    struct manifest_list needed_variables;
    struct manifest_conflict *conflicts;
    int conflict_count;
    struct manifest_list replaces; /* functions outside MPI */
    bool communicates;
    struct manifest_list communicates_with; /* it does so only with these options, KEY=VALUE */
    struct manifest_list output_files;
    /* If output_shared is true, two layers of the tool write the same files unless they differ in
     * the option `output_option`. */
    bool output_shared;
    char *output_option;
    bool walks_stack, fortran_wrappers;
    struct manifest_list notes;
};

/* Returns whether a text is meant as a manifest because it contains "qmpi-manifest/". */
bool manifest_is_meant(const char *text, size_t size);

/*
 * Reads the text of a manifest. `path` is shown in messages. `name` is the name of the tool unless
 * the text gives another one. Returns NULL if the text is not meant as a manifest or is invalid. In
 * the second case, *problem becomes a message with a hint, which the caller frees, and otherwise
 * NULL.
 */
struct manifest *manifest_parse(const char *text, size_t size, const char *path, const char *name,
                                char **problem);

/*
 * Finds the manifest of the library at `path`. This is the file NAME.json in the directory of the
 * path, in the directory of the file that the path leads to, or in one of `folders`, which end with
 * NULL. In `folders`, it may also be any other file that names this library. NAME is that of the
 * library without `lib` and `.so…`. A manifest for libraries that define other symbols is passed
 * over. Returns NULL if there is no manifest or if it is invalid. In the second case, *problem
 * becomes a message with a hint, which the caller frees, and otherwise NULL.
 */
struct manifest *manifest_find(const char *path, const char *const *folders, char **problem);

/* Returns the name of a library's file without `lib` and `.so…`. The caller frees it. */
char *manifest_tool_name(const char *path);

/* Frees a manifest, which may be NULL. */
void manifest_free(struct manifest *manifest);

#endif
