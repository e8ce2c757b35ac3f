#include "websocket.h"
#include "delivery.h"
#include "options.h"
#include "protocol.h"
#include "publisher.h"
#include "scenarios.h"
#include <stdio.h>
#include <string.h>

enum { FRAME_MAX = 1 << 26, COMPRESSED = 0x40 };

void websocket_request(struct connection *connection) {
    char path[1024], request[2048];
    expand_channel(options.path, connection->channel, path, sizeof path);
    const char *subprotocol = options.mode == MODE_MQTT ? "Sec-WebSocket-Protocol: mqtt\r\n" : "";
    static const char *const extensions[] = {
        [DEFLATE_OFF] = "",
        [DEFLATE_RESET] =
            "Sec-WebSocket-Extensions: permessage-deflate; "
            "client_no_context_takeover; server_no_context_takeover\r\n",
        [DEFLATE_KEPT] =
            "Sec-WebSocket-Extensions: permessage-deflate; "
            "client_no_context_takeover\r\n",
    };
    int count =
        snprintf(request, sizeof request,
                 "GET %s HTTP/1.1\r\n"
                 "Host: %s:%d\r\n"
                 "Upgrade: websocket\r\n"
                 "Connection: Upgrade\r\n"
                 "Sec-WebSocket-Key: d3Nsb2FkLWtleS0xMjM0NQ==\r\n"
                 "Sec-WebSocket-Version: 13\r\n"
                 "%s%s\r\n",
                 path, options.host, options.port, subprotocol, extensions[options.deflate]);
    connection_write(connection, request, (size_t)count);
    connection->state = UPGRADING;
    connection_flush(connection);
}

void websocket_write(struct connection *connection, enum opcode opcode, const char *payload,
                     size_t count) {
    unsigned char header[14] = {(unsigned char)(0x80 | opcode)};
    size_t length = 2;
    if (count < 126) {
        header[1] = (unsigned char)(0x80 | count);
    } else if (count < 65536) {
        header[1] = 0x80 | 126;
        header[2] = (unsigned char)(count >> 8);
        header[3] = (unsigned char)count;
        length = 4;
    } else {
        give_up("a frame of %zu bytes is not needed here", count);
    }
    // A mask of zero is valid, and leaves the payload as it is.
    connection_write(connection, header, length + 4);
    connection_write(connection, payload, count);
}

static void server_closed(struct connection *connection, const unsigned char *payload,
                          size_t count) {
    if (connection->state == CLOSING) {
        churn_closed(connection);
        return;
    }
    char reason[160];
    int code = count >= 2 ? payload[0] << 8 | payload[1] : 0;
    int length = count > 2 ? (int)count - 2 : 0;
    snprintf(reason, sizeof reason, "the server sent close code %d %.*s", code,
             length > 100 ? 100 : length, payload + 2);
    connection_fail(connection, reason);
}

static void received_frame(struct connection *connection, unsigned char first, const char *payload,
                           size_t count, uint64_t time) {
    switch (first & 15) {
    case CLOSE:
        server_closed(connection, (const unsigned char *)payload, count);
        break;
    case PING:
        websocket_write(connection, PONG, payload, count);
        connection_flush(connection);
        break;
    case PONG:
        break;
    default:
        if (first & COMPRESSED) {
            websocket_inflate(connection, payload, count, time);
        } else {
            protocol_received(connection, payload, count, time);
        }
    }
}

// The bytes of the whole frames there were; all of them when the connection ended meanwhile.
static size_t read_frames(struct connection *connection, const char *bytes, size_t count,
                          uint64_t time) {
    size_t consumed = 0;
    while (count - consumed >= 2) {
        const unsigned char *header = (const unsigned char *)bytes + consumed;
        size_t available = count - consumed, length = header[1] & 127, header_length = 2;
        if (length == 126) {
            if (available < 4) break;
            length = (size_t)header[2] << 8 | header[3];
            header_length = 4;
        } else if (length == 127) {
            if (available < 10) break;
            length = 0;
            for (int i = 2; i < 10; i++)
                length = length << 8 | header[i];
            header_length = 10;
        }
        if (length > FRAME_MAX) {
            connection_fail(connection, "frame too large");
            return count;
        }
        if (available < header_length + length) break;
        const char *payload = bytes + consumed + header_length;
        consumed += header_length + length;
        received_frame(connection, header[0], payload, length, time);
        if (connection_has_ended(connection)) return count;
    }
    return consumed;
}

// Reads the answer to the request; returns its length, or 0 when it is not complete or refuses.
static size_t read_upgrade(struct connection *connection, const char *bytes, size_t count) {
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end) return 0;
    if (count < 12 || memcmp(bytes + 9, "101", 3) != 0) {
        char reason[160];
        snprintf(reason, sizeof reason, "upgrade refused: %.*s", (int)(count > 100 ? 100 : count),
                 bytes);
        connection_fail(connection, reason);
        return 0;
    }
    size_t length = (size_t)(end - bytes) + 4;
    connection->is_deflated = memmem(bytes, length, "permessage-deflate", 18) != NULL;
    return length;
}

void websocket_received(struct connection *connection, const char *bytes, size_t count,
                        uint64_t time) {
    if (connection->kind == HTTP_PUBLISHER) {
        publisher_received(connection, bytes, count);
        return;
    }
    // Only what is incomplete is kept; whole frames are read where they arrived.
    bool is_kept = buffer_count(&connection->received) > 0;
    if (is_kept) {
        buffer_append(&connection->received, bytes, count);
        bytes = buffer_bytes(&connection->received);
        count = buffer_count(&connection->received);
    }
    size_t consumed = 0;
    if (connection->state == UPGRADING) {
        consumed = read_upgrade(connection, bytes, count);
        if (consumed > 0) protocol_opened(connection);
    }
    if (connection_has_ended(connection)) return;
    if (connection->state != UPGRADING) {
        consumed += read_frames(connection, bytes + consumed, count - consumed, time);
    }
    // The buffer went with the connection.
    if (connection_has_ended(connection)) return;
    if (is_kept) {
        buffer_consume(&connection->received, consumed);
        if (buffer_count(&connection->received) == 0) buffer_free(&connection->received);
    } else {
        buffer_append(&connection->received, bytes + consumed, count - consumed);
    }
}
