// Bytes that come in at one end and leave at the other.
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buffer {
    char *bytes;
    // 32 bits, as ten thousand connections hold two of these each.
    uint32_t start, end, capacity;
};

static inline size_t buffer_count(const struct buffer *buffer) {
    return buffer->end - buffer->start;
}
static inline char *buffer_bytes(const struct buffer *buffer) {
    return buffer->bytes + buffer->start;
}

void buffer_append(struct buffer *buffer, const void *bytes, size_t count);
// Takes bytes off the front; an empty buffer begins anew at its start.
void buffer_consume(struct buffer *buffer, size_t count);
void buffer_free(struct buffer *buffer);
