/* SPDX-License-Identifier: MIT */
/* Functions that all formats share: see export.h. */
#define _GNU_SOURCE
#include "tools/trace/export/export.h"

#include <inttypes.h>
#include <string.h>

char *trace_export_site(const struct trace_export *export, const struct trace_process *process,
                        uint32_t site)
{
    if (site >= process->site_count || !process->sites[site].count)
        return NULL;
    char *text = export->describe
                     ? export->describe(export->describe_data, process, &process->sites[site])
                     : NULL;
    if (text)
        return text;
    const struct trace_frame *frame = process->sites[site].frames;
    const char *path =
        frame->library < process->library_count ? process->libraries[frame->library] : "unknown";
    const char *slash = strrchr(path, '/');
    return asprintf(&text, "%s+0x%" PRIx64, slash ? slash + 1 : path, frame->offset) < 0 ? NULL
                                                                                         : text;
}

bool trace_export_is_ours(const char *bytes, size_t size)
{
    enum { HEAD = 128 };
    const size_t header = strlen(TRACE_EXPORT_CSV_HEADER);
    return !size || (size >= header && !memcmp(bytes, TRACE_EXPORT_CSV_HEADER, header)) ||
           memmem(bytes, size < HEAD ? size : HEAD, TRACE_EXPORT_MARK, strlen(TRACE_EXPORT_MARK));
}
