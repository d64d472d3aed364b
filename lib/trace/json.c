/* SPDX-License-Identifier: MIT */
/* See json.h. */
#include "trace/json.h"

#include "trace/csv.h"
#include "trace/json_text.h"

#include <inttypes.h>
#include <stdlib.h>

struct output {
    FILE *stream;
    const struct trace_export *export;
    struct trace_numbers numbers;
    uint32_t index; /* of the process */
    const struct trace_process *process;
    const char *separator;         /* before the next event */
    uint64_t *depths;              /* by location: calls in progress */
    struct trace_event *arguments; /* by location: of the call in progress */
};

/* ---- Events ---------------------------------------------------------------------------------- */

static void begin_event(struct output *output, char phase, uint32_t location, int64_t time)
{
    const struct trace_view *view = output->export->view;
    fprintf(output->stream,
            "%s\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":", output->separator,
            phase, trace_process_number(output->numbers, view, output->index),
            trace_thread_number(output->numbers, view, output->index, location));
    output->separator = ",";
    trace_json_time(output->stream, time);
}

static void name(struct output *output, const char *text, const char *category)
{
    fputs(",\"name\":", output->stream);
    trace_json_string(output->stream, text);
    fputs(",\"cat\":", output->stream);
    trace_json_string(output->stream, *category ? category : "none");
}

static void end_event(struct output *output)
{
    putc_unlocked('}', output->stream);
}

static void metadata(struct output *output, const char *kind, uint32_t location, const char *text)
{
    begin_event(output, 'M', location, 0);
    fprintf(output->stream, ",\"name\":\"%s\",\"args\":{\"name\":", kind);
    trace_json_string(output->stream, text);
    fputs("}}", output->stream);
}

static void describe_process(struct output *output)
{
    char room[TRACE_NAME_SIZE], text[2 * TRACE_NAME_SIZE];
    snprintf(text, sizeof text, "%s (%s)", trace_process_name(output->process, room),
             output->process->host ? output->process->host : "unknown host");
    metadata(output, "process_name", 0, text);
    begin_event(output, 'M', 0, 0);
    fprintf(output->stream, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}",
            trace_position(output->export->view, output->index));
    for (uint32_t i = 0; i < output->process->location_count; i++)
        metadata(output, "thread_name", i, trace_location_name(output->process, i, room));
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void member_rank(FILE *stream, const char **separator, const char *name_of, int rank)
{
    if (rank == TRACE_ANY)
        trace_json_member_string(stream, separator, name_of, "any");
    else if (rank == TRACE_PROC_NULL)
        trace_json_member_string(stream, separator, name_of, "null");
    else if (rank >= 0)
        trace_json_member_number(stream, separator, name_of, rank);
}

static void message_members(struct output *output, const char **separator,
                            const struct trace_event *event)
{
    char room[TRACE_NAME_SIZE];
    FILE *stream = output->stream;
    member_rank(stream, separator, "peer", event->peer);
    member_rank(stream, separator, "tag", event->tag);
    trace_json_member_number(stream, separator, "bytes", (int64_t)event->bytes);
    if (event->comm < output->process->comm_count)
        trace_json_member_string(stream, separator, "communicator",
                                 trace_comm_name(output->process, event->comm, room));
}

/* A slice without duration, to which the flow belongs: viewers lead arrows from slice to slice. */
static void add_message(struct output *output, const struct trace_event *event, uint64_t message)
{
    const bool is_send = trace_is_send(event);
    const char *text = is_send ? "send" : "receive", *separator = "";
    begin_event(output, 'B', event->location, event->time);
    name(output, text, "message");
    fputs(",\"args\":{", output->stream);
    message_members(output, &separator, event);
    putc_unlocked('}', output->stream);
    end_event(output);
    if (trace_pairs_have(output->export->pairs, message)) {
        begin_event(output, is_send ? 's' : 'f', event->location, event->time);
        name(output, "message", "message");
        fprintf(output->stream, ",\"id\":\"0x%" PRIx64 "\"%s", message,
                is_send ? "" : ",\"bp\":\"e\"");
        end_event(output);
    }
    begin_event(output, 'E', event->location, event->time);
    end_event(output);
}

/* ---- Everything else ------------------------------------------------------------------------- */

static void event_members(struct output *output, const char **separator,
                          const struct trace_event *event)
{
    char room[TRACE_NAME_SIZE];
    FILE *stream = output->stream;
    member_rank(stream, separator, "peer", event->peer);
    member_rank(stream, separator, "tag", event->tag);
    member_rank(stream, separator, "root", event->root);
    if (event->comm < output->process->comm_count)
        trace_json_member_string(stream, separator, "communicator",
                                 trace_comm_name(output->process, event->comm, room));
    if (event->object != TRACE_NONE && trace_object_name(output->process, event, room))
        trace_json_member_string(stream, separator, "object",
                                 trace_object_name(output->process, event, room));
    if (event->bytes)
        trace_json_member_number(stream, separator, "bytes", (int64_t)event->bytes);
    if (event->received)
        trace_json_member_number(stream, separator, "received", (int64_t)event->received);
}

static void instant(struct output *output, const struct trace_event *event, const char *category)
{
    const char *separator = "";
    begin_event(output, 'i', event->location, event->time);
    name(output, trace_kind_name(event->kind), category);
    fputs(",\"s\":\"t\",\"args\":{", output->stream);
    event_members(output, &separator, event);
    putc_unlocked('}', output->stream);
    end_event(output);
}

/* Arguments of a call are told with its end, which viewers combine with its begin. */
static void add_arguments(struct output *output, const struct trace_event *event)
{
    struct trace_event *held = &output->arguments[event->location];
    held->kind = event->object != TRACE_NONE ? event->kind : held->kind;
    held->object = event->object != TRACE_NONE ? event->object : held->object;
    held->comm = event->comm != TRACE_NONE ? event->comm : held->comm;
    held->peer = event->peer != TRACE_UNDEFINED ? event->peer : held->peer;
    held->tag = event->tag != TRACE_UNDEFINED ? event->tag : held->tag;
    held->root = event->root != TRACE_UNDEFINED ? event->root : held->root;
    held->bytes += event->bytes;
    held->received += event->received;
}

static void enter(struct output *output, const struct trace_event *event)
{
    output->depths[event->location]++;
    trace_event_clear(&output->arguments[event->location], TRACE_ENTER, 0);
    begin_event(output, 'B', event->location, event->time);
    name(output, trace_function_name(output->process, event->function),
         trace_function_group(output->process, event->function));
    char *site = trace_describe_site(output->export, output->process, event->site);
    if (site) {
        fputs(",\"args\":{\"site\":", output->stream);
        trace_json_string(output->stream, site);
        putc_unlocked('}', output->stream);
    }
    free(site);
    end_event(output);
}

static void leave(struct output *output, const struct trace_event *event)
{
    if (!output->depths[event->location])
        return;
    output->depths[event->location]--;
    const char *separator = "";
    begin_event(output, 'E', event->location, event->time);
    fputs(",\"args\":{", output->stream);
    event_members(output, &separator, &output->arguments[event->location]);
    if (event->kind == TRACE_INTERRUPTED)
        fprintf(output->stream, "%s\"interrupted\":true", separator);
    putc_unlocked('}', output->stream);
    end_event(output);
    trace_event_clear(&output->arguments[event->location], TRACE_ENTER, 0);
}

static void region(struct output *output, const struct trace_event *event)
{
    char room[TRACE_NAME_SIZE];
    begin_event(output, event->kind == TRACE_REGION_BEGIN ? 'b' : 'e', 0, event->time);
    name(output, trace_object_name(output->process, event, room), "region");
    fprintf(output->stream, ",\"id2\":{\"local\":\"0x%x\"}", event->object + 1);
    end_event(output);
}

static void counter(struct output *output, const struct trace_event *event)
{
    char room[TRACE_NAME_SIZE];
    begin_event(output, 'C', 0, event->time);
    name(output, trace_object_name(output->process, event, room), "counter");
    fprintf(output->stream, ",\"args\":{\"value\":%.17g}", event->value);
    end_event(output);
}

static void add_event(struct output *output, const struct trace_event *event, uint64_t message)
{
    if (event->location >= output->process->location_count)
        return;
    switch (event->kind) {
    case TRACE_ENTER:
        enter(output, event);
        break;
    case TRACE_LEAVE:
    case TRACE_INTERRUPTED:
        leave(output, event);
        break;
    case TRACE_SEND:
    case TRACE_RECV:
    case TRACE_ISEND:
    case TRACE_IRECV:
        add_message(output, event, message);
        break;
    case TRACE_REGION_BEGIN:
    case TRACE_REGION_END:
        region(output, event);
        break;
    case TRACE_COUNTER:
        counter(output, event);
        break;
    case TRACE_ISEND_COMPLETE:
    case TRACE_REQUEST_TEST:
    case TRACE_RMA_COMPLETE:
        break;
    case TRACE_OFF:
    case TRACE_ON:
    case TRACE_DROPPED:
    case TRACE_FLUSH:
        instant(output, event, "recording");
        break;
    case TRACE_ICOLLECTIVE_COMPLETE:
    case TRACE_REQUEST_CANCELLED:
    case TRACE_REQUEST_FREED:
        instant(output, event, "request");
        break;
    default:
        add_arguments(output, event);
        break;
    }
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Calls in progress last until the end of the process. */
static void end_calls(struct output *output)
{
    char room[TRACE_NAME_SIZE];
    const int64_t end = trace_view_end_of(output->export->view, output->index);
    for (uint32_t i = 0; i < output->process->location_count; i++) {
        for (; output->depths[i]; output->depths[i]--) {
            begin_event(output, 'E', i, end);
            fputs(",\"args\":{\"unfinished\":", output->stream);
            trace_json_string(output->stream, trace_end_name(output->process, room));
            putc_unlocked('}', output->stream);
            end_event(output);
        }
    }
}

static bool write_process(struct output *output)
{
    struct trace_event event;
    uint64_t message;
    struct trace_view_stream *stream = trace_view_stream_make(output->export->view, output->index);
    output->depths = calloc(output->process->location_count + 1, sizeof *output->depths);
    output->arguments = calloc(output->process->location_count + 1, sizeof *output->arguments);
    const bool good = stream && output->depths && output->arguments;
    for (uint32_t i = 0; good && i < output->process->location_count; i++)
        trace_event_clear(&output->arguments[i], TRACE_ENTER, 0);
    describe_process(output);
    while (good && !ferror(output->stream) && trace_view_stream_next(stream, &event, &message))
        add_event(output, &event, message);
    if (good)
        end_calls(output);
    const bool complete = good && !trace_view_stream_failed(stream);
    free(output->depths);
    free(output->arguments);
    trace_view_stream_free(stream);
    return complete;
}

bool trace_write_json(FILE *stream, const struct trace_export *export)
{
    const struct trace *trace = export->view->trace;
    struct output output = {.stream = stream,
                            .export = export,
                            .numbers = trace_numbers_of(export->view),
                            .separator = ""};
    fputs("{\"otherData\":{\"creator\":\"" TRACE_EXPORT_MARK "\"},\"displayTimeUnit\":\"ns\","
          "\"traceEvents\":[",
          stream);
    for (uint32_t i = 0; i < trace->process_count && !ferror(stream); i++) {
        if (!trace_view_has(export->view, i))
            continue;
        output.index = i;
        output.process = &trace->processes[i];
        if (!write_process(&output))
            return false;
    }
    fputs("\n]}\n", stream);
    return true;
}
