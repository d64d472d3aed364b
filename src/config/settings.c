/* SPDX-License-Identifier: MIT */
/* See settings.h. */
#define _GNU_SOURCE
#include "config/settings.h"

#include "util/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- One file -------------------------------------------------------------------------------- */

enum { SIZE_MAX_READ = 1 << 20 };

struct files {
    struct qmpi_config_file *list;
    int count;
    bool named; /* whether QMPI_CONFIG was set when the files were read */
};

/* Reads a file to *text, which the caller frees in any case, and adds its size to *size. Returns
 * NULL, or the reason why the file cannot be read. /dev/null counts as an empty file. Pipes are
 * refused, because reading one could wait for ever. */
static const char *read_all(int descriptor, char **text, size_t *size)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return strerror(errno);
    if (S_ISDIR(status.st_mode))
        return "it is a directory";
    if (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode))
        return "it is not a regular file";
    *text = qmpi_allocate(SIZE_MAX_READ + 1, 1);
    for (;;) {
        const ssize_t got = read(descriptor, *text + *size, SIZE_MAX_READ + 1 - *size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return strerror(errno);
        *size += (size_t)got;
        if (*size > SIZE_MAX_READ)
            return "it is larger than 1 MiB";
        if (got == 0)
            return NULL;
    }
}

/* Whether the files of QMPI_CONFIG are those of the command's option -c. */
static bool is_option_given(void)
{
    const char *value = secure_getenv("QMPI_CONFIG"), *option = secure_getenv("QMPI_CONFIG_OPTION");
    return value && option && !strcmp(value, option);
}

static char *refuse_file(const struct qmpi_config_file *file, const char *reason)
{
    char *shown = qmpi_message_shorten(file->path);
    char *problem = qmpi_message(
        "cannot read the file '%s': %s\nhint: %s", shown, reason,
        file->may_be_missing ? "make this directory accessible, or set XDG_CONFIG_HOME to another"
        : file->scope != QMPI_SCOPE_LISTED ? "correct or remove this file"
        : is_option_given()                ? "name a configuration file that you can read"
                            : "name a configuration file in QMPI_CONFIG, or unset it");
    free(shown);
    return problem;
}

/* Whether the failure of a system call says that a file does not exist, or that this process is not
 * permitted to open it. */
static bool is_absence(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES;
}

static char *folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash ? qmpi_copy_part(file, (size_t)(slash - file)) : qmpi_copy(".");
}

/* Takes ownership of `path`. */
static void add_config_file(struct files *files, char *path, enum qmpi_tool_scope scope)
{
    char *text = NULL;
    size_t size = 0;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int error = descriptor < 0 ? errno : 0;
    /* It is no error if the user's file does not exist, or if this process is not permitted to open
     * it: most users have none, and some processes lack the permission to search its directory. */
    if (error && scope == QMPI_SCOPE_USER && is_absence(error)) {
        free(path);
        return;
    }
    const char *reason = error ? strerror(error) : read_all(descriptor, &text, &size);
    if (descriptor >= 0)
        close(descriptor);
    files->list = qmpi_memory_grow(files->list, files->count, sizeof *files->list);
    struct qmpi_config_file *file = &files->list[files->count++];
    *file = (struct qmpi_config_file){
        .path = path, .scope = scope, .may_be_missing = error && scope == QMPI_SCOPE_USER};
    char *folder = folder_of(path);
    if (reason)
        file->unreadable = refuse_file(file, reason);
    qmpi_config_parse(text ? text : "", reason ? 0 : size, folder, &file->config);
    free(folder);
    free(text);
}

/* ---- The list of files ----------------------------------------------------------------------- */

static int is_config(const struct dirent *entry)
{
    static const char end[] = ".conf";
    const size_t length = strlen(entry->d_name), end_length = sizeof end - 1;
    return entry->d_name[0] != '.' && length > end_length &&
           !strcmp(entry->d_name + length - end_length, end);
}

static int compare_entry_names(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name); /* the same order in every locale */
}

/* Called if the directory of the site's files cannot be listed. If it exists but cannot be opened,
 * adds an unreadable file in its place. */
static void refuse_site(struct files *files, const char *folder)
{
    /* Opens the directory for its errno, because some sanitizers do not keep that of scandir. */
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), reason = errno;
    if (descriptor >= 0)
        close(descriptor);
    if (descriptor >= 0 || reason == ENOENT)
        return;
    char *shown = qmpi_message_shorten(folder);
    files->list = qmpi_memory_grow(files->list, files->count, sizeof *files->list);
    struct qmpi_config_file *file = &files->list[files->count++];
    *file = (struct qmpi_config_file){.path = qmpi_copy(folder), .scope = QMPI_SCOPE_SITE};
    file->unreadable = qmpi_message("cannot read the directory '%s' of the site's configuration "
                                    "files: %s\n"
                                    "hint: let all users read this directory, or remove it",
                                    shown, strerror(reason));
    qmpi_config_parse("", 0, folder, &file->config);
    free(shown);
}

static void add_site_files(struct files *files)
{
    char *given = qmpi_config_site_folder ? qmpi_config_site_folder() : NULL;
    char *folder = given ? realpath(given, NULL) : NULL; /* symbolic links and `..` resolved */
    struct dirent **entries;
    const int count = folder ? scandir(folder, &entries, is_config, compare_entry_names) : -1;
    if (count < 0 && given)
        refuse_site(files, folder ? folder : given);
    for (int i = 0; i < count; i++) {
        add_config_file(files, qmpi_format("%s/%s", folder, entries[i]->d_name), QMPI_SCOPE_SITE);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    free(folder);
    free(given);
}

/* A colon separates the paths, unless a backslash stands before it. */
static void add_named(struct files *files, const char *list)
{
    char *path = qmpi_allocate(strlen(list) + 1, 1);
    for (size_t length = 0;; list++) {
        if (*list == '\\' && (list[1] == ':' || list[1] == '\\')) {
            path[length++] = *++list;
        } else if (*list && *list != ':') {
            path[length++] = *list;
        } else {
            path[length] = '\0';
            if (length)
                add_config_file(files, qmpi_start_path(path), QMPI_SCOPE_LISTED);
            length = 0;
        }
        if (!*list)
            break;
    }
    free(path);
}

static void add_user(struct files *files)
{
    const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    if (folder && *folder == '/')
        add_config_file(files, qmpi_format("%s/qmpi/qmpi.conf", folder), QMPI_SCOPE_USER);
    else if (home && *home == '/')
        add_config_file(files, qmpi_format("%s/.config/qmpi/qmpi.conf", home), QMPI_SCOPE_USER);
}

static struct files *read_files(void)
{
    struct files *files = qmpi_allocate(1, sizeof *files);
    const char *named = qmpi_getenv("QMPI_CONFIG");
    if (getauxval(AT_SECURE))
        return files;
    files->named = named != NULL;
    add_site_files(files);
    if (named)
        add_named(files, named);
    add_user(files);
    return files;
}

/* If QMPI_CONFIG was not set when the files were read, they are read again once it is set: the
 * command's option -c sets it. */
const struct qmpi_config_file *qmpi_config_files(int *count)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    /* Stored with release order, under the lock, after the files have been read; loaded with
     * acquire order without the lock. The files to which it points never change. */
    static struct files *current;
    struct files *files = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
    if (!files || (!files->named && qmpi_getenv("QMPI_CONFIG"))) {
        pthread_mutex_lock(&lock);
        if (current == files)
            __atomic_store_n(&current, read_files(), __ATOMIC_RELEASE);
        files = current;
        pthread_mutex_unlock(&lock);
    }
    *count = files->count;
    return files->list;
}

const char *qmpi_settings_origin(const struct qmpi_config_file *file)
{
    return file->scope != QMPI_SCOPE_LISTED ? "configuration"
           : is_option_given()              ? "-c"
                                            : "QMPI_CONFIG";
}

/* ---- Settings -------------------------------------------------------------------------------- */

const char *qmpi_setting(const char *variable)
{
    const char *value = qmpi_getenv(variable);
    const int setting = qmpi_config_setting_of(variable);
    int count;
    if (value || setting < 0)
        return value;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    for (int i = count - 1; i >= 0; i--) {
        value = files[i].config.settings[setting];
        if (value && *value &&
            (files[i].scope != QMPI_SCOPE_SITE || setting != QMPI_SETTING_ON_ERROR))
            return value;
    }
    return NULL;
}

/* The user's variables do not replace on-error and tool-path in the site's files, because the
 * entries in these files still depend on them. */
const char *qmpi_setting_replaced_by(const struct qmpi_config_file *file, int setting)
{
    const char *variable = qmpi_config_names[setting].variable;
    const bool always = file->scope == QMPI_SCOPE_SITE &&
                        (setting == QMPI_SETTING_ON_ERROR || setting == QMPI_SETTING_TOOL_PATH);
    return !always && qmpi_getenv(variable) ? variable : NULL;
}

static enum qmpi_tool_on_error read_on_error(const char *value)
{
    return !value                   ? QMPI_ON_ERROR_AS_SET
           : !strcmp(value, "skip") ? QMPI_ON_ERROR_SKIP
                                    : QMPI_ON_ERROR_STOP;
}

enum qmpi_tool_on_error qmpi_settings_on_error_in(const struct qmpi_config_file *file, int section)
{
    const char *set = file->config.sections[section].on_error;
    if (file->may_be_missing)
        return QMPI_ON_ERROR_SKIP;
    if (set)
        return read_on_error(set);
    if (file->scope != QMPI_SCOPE_SITE)
        return QMPI_ON_ERROR_AS_SET;
    const char *general = file->config.settings[QMPI_SETTING_ON_ERROR];
    return general ? read_on_error(general) : QMPI_ON_ERROR_SKIP;
}

bool qmpi_settings_skip_errors(enum qmpi_tool_on_error on_error)
{
    const char *value = on_error == QMPI_ON_ERROR_AS_SET ? qmpi_setting("QMPI_ON_ERROR") : NULL;
    return on_error == QMPI_ON_ERROR_SKIP || (value && !strcmp(value, "skip"));
}

static void append_folders(char **list, const char *folders)
{
    if (!folders || !*folders)
        return;
    char *longer = qmpi_format("%s%s%s", *list, **list ? ":" : "", folders);
    free(*list);
    *list = longer;
}

char *qmpi_settings_tool_path(void)
{
    const char *variable = qmpi_getenv("QMPI_TOOL_PATH");
    char *list = qmpi_copy("");
    int count;
    const struct qmpi_config_file *files = qmpi_config_files(&count);
    append_folders(&list, variable);
    for (int i = count - 1; i >= 0; i--) {
        if (!variable || files[i].scope == QMPI_SCOPE_SITE)
            append_folders(&list, files[i].config.settings[QMPI_SETTING_TOOL_PATH]);
    }
    return list;
}
