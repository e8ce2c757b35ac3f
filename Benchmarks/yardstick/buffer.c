#include "buffer.h"
#include <stdlib.h>
#include <string.h>

void buffer_append(struct buffer *buffer, const void *bytes, size_t count) {
    if (count == 0) return;
    if (buffer->end + count > buffer->capacity && buffer->start > 0) {
        memmove(buffer->bytes, buffer_bytes(buffer), buffer_count(buffer));
        buffer->end -= buffer->start;
        buffer->start = 0;
    }
    if (buffer->end + count > buffer->capacity) {
        buffer->capacity = (buffer->end + count) * 2 + 64;
        buffer->bytes = realloc(buffer->bytes, buffer->capacity);
        if (!buffer->bytes) abort();
    }
    memcpy(buffer->bytes + buffer->end, bytes, count);
    buffer->end += count;
}

void buffer_consume(struct buffer *buffer, size_t count) {
    buffer->start += count;
    if (buffer->start == buffer->end) buffer->start = buffer->end = 0;
}

void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}
