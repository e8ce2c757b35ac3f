// permessage-deflate, RFC 7692, on the receiving side.
//
// A generator that inflated each copy of a message would be the bottleneck of the run. Without
// context takeover equal bytes are equal messages, so the last few results are kept.
#include "delivery.h"
#include "options.h"
#include "protocol.h"
#include "websocket.h"
#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 16, INFLATED_MAX = 1 << 20, RAW_DEFLATE = -15 };

static struct {
    struct buffer compressed, message;
} remembered[REMEMBERED];
static unsigned next_place;

static const struct buffer *recall(const char *bytes, size_t count) {
    for (unsigned age = 1; age <= REMEMBERED; age++) {
        unsigned place = (next_place - age) % REMEMBERED;
        const struct buffer *compressed = &remembered[place].compressed;
        if (buffer_count(compressed) == count && compressed->bytes &&
            memcmp(compressed->bytes, bytes, count) == 0) {
            return &remembered[place].message;
        }
    }
    return NULL;
}

static void replace(struct buffer *buffer, const char *bytes, size_t count) {
    buffer->start = buffer->end = 0;
    buffer_append(buffer, bytes, count);
}

static void remember(const char *bytes, size_t count, const char *message, size_t length) {
    unsigned place = next_place++ % REMEMBERED;
    replace(&remembered[place].compressed, bytes, count);
    replace(&remembered[place].message, message, length);
}

static z_stream *new_inflater(void) {
    z_stream *stream = calloc(1, sizeof *stream);
    if (inflateInit2(stream, RAW_DEFLATE) != Z_OK) give_up("inflateInit2 failed");
    return stream;
}

// One stream serves all where each message begins anew.
static z_stream *inflater(struct connection *connection) {
    static z_stream *shared;
    if (options.deflate == DEFLATE_RESET) {
        if (!shared) shared = new_inflater();
        inflateReset(shared);
        return shared;
    }
    if (!connection->inflater) connection->inflater = new_inflater();
    return connection->inflater;
}

static bool inflate_part(z_stream *stream, const void *bytes, size_t count) {
    stream->next_in = (unsigned char *)bytes;
    stream->avail_in = (unsigned)count;
    int result = inflate(stream, Z_SYNC_FLUSH);
    if (result == Z_STREAM_END) inflateReset(stream);
    return result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END;
}

void websocket_inflate(struct connection *connection, const char *bytes, size_t count,
                       uint64_t time) {
    if (options.deflate == DEFLATE_RESET) {
        const struct buffer *message = recall(bytes, count);
        if (message) {
            protocol_received(connection, message->bytes, buffer_count(message), time);
            return;
        }
    }
    static char output[INFLATED_MAX];
    z_stream *stream = inflater(connection);
    stream->next_out = (unsigned char *)output;
    stream->avail_out = sizeof output;
    // The sender leaves out the four bytes that end each message (§7.2.1).
    if (!inflate_part(stream, bytes, count) || !inflate_part(stream, "\0\0\377\377", 4)) {
        connection_fail(connection, "the compressed message is not deflate");
        return;
    }
    size_t length = sizeof output - stream->avail_out;
    if (options.deflate == DEFLATE_RESET) remember(bytes, count, output, length);
    protocol_received(connection, output, length, time);
}
