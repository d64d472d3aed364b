/* SPDX-License-Identifier: MIT */
/* See usual_end.h. */
#include "record/usual_end.h"

#include "record/any_end.h"
#include "record/message.h"
#include "record/objects.h"

void usual_end_message(const QMPIX_Call *call, QMPIX_Word *word, struct recorder *recorder,
                       bool sends)
{
    struct thread_level *level = thread_level_current;
    struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    struct raw_message none, *raw = recorder_room(recorder, sizeof *raw), *message = raw;
    if (__builtin_expect(!message, 0))
        message = &none; /* it is dropped */
    const bool found = argument_result_is_success(call) &&
                       (sends ? message_find_sent(recorder, call, message)
                              : message_find_received(recorder, call, message));
    if (found) {
        message->head = (struct raw_head){.ticks = times[0],
                                          .end = times[1],
                                          .site = recorder_site(flight->number),
                                          .function = recorder_function(flight->number),
                                          .kind = sends ? RAW_SEND : RAW_RECEIVE};
        if (__builtin_expect(raw != NULL, 1))
            recorder_publish(recorder, sizeof *raw);
        flights_end_first(&recorder->flights);
    }
    thread_level_leave_first(level);
    if (!found)
        any_end(call, word);
}

static inline void put_with_comm(const QMPIX_Call *call, struct recorder *recorder,
                                 struct raw_head *head, uint32_t comm)
{
    const struct flight *flight = &recorder->flights.first;
    const uint64_t *times = flights_times(call);
    *head = (struct raw_head){.ticks = times[0],
                              .end = times[1],
                              .site = recorder_site(flight->number),
                              .function = recorder_function(flight->number),
                              .kind = RAW_CALL,
                              .event = (uint8_t)(comm + 1)};
    recorder_publish(recorder, sizeof *head);
    flights_end_first(&recorder->flights);
}

/* The communicator is another one than that of the last call, the call has failed, or the chunk is
 * full. */
__attribute__((noinline)) static void end_with_other_comm(const QMPIX_Call *call, QMPIX_Word *word,
                                                          struct recorder *recorder)
{
    struct thread_level *level = thread_level_current;
    const int argument = traits_all[call->function->number].comm;
    const uint32_t comm =
        argument_result_is_success(call) ? objects_find_comm(recorder, call, argument) : TRACE_NONE;
    const bool is_short = comm < UINT8_MAX || comm == TRACE_NONE;
    struct raw_head *head = is_short ? recorder_room(recorder, sizeof *head) : NULL;
    if (head)
        put_with_comm(call, recorder, head, comm);
    else if (is_short)
        flights_end_first(&recorder->flights); /* it is dropped */
    thread_level_leave_first(level);
    if (!is_short)
        any_end(call, word);
}

void usual_end_with_comm(const QMPIX_Call *call, QMPIX_Word *word, struct recorder *recorder)
{
    struct chunk *chunk = atomic_load_explicit(&recorder->chunk, memory_order_relaxed);
    unsigned char *at = atomic_load_explicit(&chunk->at, memory_order_relaxed);
    const int argument = traits_all[call->function->number].comm;
    if (__builtin_expect(!message_is_last_comm(recorder, call, argument) ||
                             recorder->comm >= UINT8_MAX || !argument_result_is_success(call) ||
                             (size_t)(chunk->end - at) < sizeof(struct raw_head),
                         0)) {
        end_with_other_comm(call, word, recorder);
        return;
    }
    put_with_comm(call, recorder, (struct raw_head *)(void *)at, recorder->comm);
    thread_level_leave_first(thread_level_current);
}
