// What is said over the WebSocket: the Pusher protocol, nothing (raw), NATS or MQTT 3.1.1.
#pragma once
#include "connection.h"

// The WebSocket is open: begin the protocol's own dialogue.
void protocol_opened(struct connection *connection);
// A frame's payload has come.
void protocol_received(struct connection *connection, const char *bytes, size_t count,
                       uint64_t time);
// Queues a message of `options.size` bytes on a publisher's WebSocket.
void protocol_publish(struct connection *publisher, uint32_t channel, const char *data);

// The name of a channel: the prefix and its number.
void channel_name(uint32_t channel, char *output, size_t capacity);
// Copies `text`, with the channel's name in place of %c.
void expand_channel(const char *text, uint32_t channel, char *output, size_t capacity);
