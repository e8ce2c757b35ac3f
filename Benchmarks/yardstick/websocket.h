// The client's side of RFC 6455, as much as a load generator needs.
#pragma once
#include "connection.h"

enum opcode { TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

// Asks for the upgrade.
void websocket_request(struct connection *connection);
// Queues a frame; connection_flush sends it.
void websocket_write(struct connection *connection, enum opcode opcode, const char *payload,
                     size_t count);
// Takes what was read at `time`: the answer to the request, then frames.
void websocket_received(struct connection *connection, const char *bytes, size_t count,
                        uint64_t time);
// Inflates a compressed message and hands it on.
void websocket_inflate(struct connection *connection, const char *bytes, size_t count,
                       uint64_t time);
