/* SPDX-License-Identifier: MIT */
/*
 * Which members of struct trace_event apply to each kind. The numbers of the fields, and those of
 * the kinds, are part of the format: new ones are added at the end.
 */
#ifndef QMPI_TRACE_KINDS_H
#define QMPI_TRACE_KINDS_H

#include "trace/event.h"

enum trace_field {
    TRACE_FIELD_FUNCTION,
    TRACE_FIELD_SITE,
    TRACE_FIELD_COMM,
    TRACE_FIELD_OBJECT,
    TRACE_FIELD_PEER,
    TRACE_FIELD_TAG,
    TRACE_FIELD_ROOT,
    TRACE_FIELD_BYTES,
    TRACE_FIELD_RECEIVED,
    TRACE_SHAPE_FIELDS, /* what follows is not part of a shape: see model.h */
    TRACE_FIELD_REQUEST = 16,
    TRACE_FIELD_VALUE,
    TRACE_FIELD_BEGINS, /* no member: the request begins, others complete or are tested */
};

#define FIELD(name) (UINT32_C(1) << TRACE_FIELD_##name)

/* By kind: the fields that apply. */
extern const uint32_t trace_kind_fields[TRACE_KINDS];

#endif
