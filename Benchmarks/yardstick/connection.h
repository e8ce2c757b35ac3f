// One TCP or TLS connection to the server, and what is known about it.
#pragma once
#include "buffer.h"
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

enum connection_state {
    CONNECTING,
    SECURING,  // the TLS handshake
    UPGRADING, // the request is sent, 101 awaited
    GREETING,  // WebSocket is open; the protocol's own greeting is due
    SUBSCRIBING,
    READY,
    CLOSING,
    DEAD,
};

enum connection_kind { SUBSCRIBER, HTTP_PUBLISHER, WEBSOCKET_PUBLISHER };

struct connection {
    int descriptor;
    enum connection_state state;
    enum connection_kind kind;
    bool awaits_writable, is_deflated;
    uint32_t index;
    uint32_t channel;       // the first of its channels
    uint32_t confirmed;     // subscriptions that the server has granted
    uint32_t marker_offset; // where the marker was in the last message: look there first
    int unanswered;         // HTTP publishes
    uint64_t opened_at;     // nanoseconds
    struct buffer received, output;
    SSL *ssl;
    z_stream *inflater;
};

// Connects; what follows happens in connection_handle. The channel is the caller's to set.
void connection_open(struct connection *connection, enum connection_kind kind, uint32_t index);
// Does what epoll says can be done.
void connection_handle(struct connection *connection, uint32_t events);
void connection_write(struct connection *connection, const void *bytes, size_t count);
void connection_flush(struct connection *connection);
// The connection can be used for what it was opened for.
void connection_ready(struct connection *connection);
// Ends it, as a failure of the run.
void connection_fail(struct connection *connection, const char *reason);
// Whether it is over; in churn the next one may have begun in its place already.
static inline bool connection_has_ended(const struct connection *connection) {
    return connection->state == DEAD || connection->state == CONNECTING;
}
// Closes it and frees what it holds.
void connection_release(struct connection *connection);
