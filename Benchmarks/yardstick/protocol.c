#include "protocol.h"
#include "delivery.h"
#include "digests.h"
#include "options.h"
#include "scenarios.h"
#include "websocket.h"
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 256, MESSAGE_MAX = 1 << 16 };

void channel_name(uint32_t channel, char *output, size_t capacity) {
    snprintf(output, capacity, "%s%u", options.channel, channel);
}

void expand_channel(const char *text, uint32_t channel, char *output, size_t capacity) {
    const char *place = strstr(text, "%c");
    if (!place) {
        snprintf(output, capacity, "%s", text);
        return;
    }
    char name[NAME_MAX_LENGTH];
    channel_name(channel, name, sizeof name);
    snprintf(output, capacity, "%.*s%s%s", (int)(place - text), text, name, place + 2);
}

static bool contains(const char *bytes, size_t count, const char *text) {
    return memmem(bytes, count, text, strlen(text)) != NULL;
}

static bool has_prefix(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static void say(struct connection *connection, enum opcode opcode, const char *text) {
    websocket_write(connection, opcode, text, strlen(text));
    connection_flush(connection);
}

static void note_answer(const char *bytes, size_t count) {
    note_error("the server said: %.*s", (int)(count > 200 ? 200 : count), bytes);
}

// Pusher Channels, protocol 7

// The socket ID of `connection_established`; what it signs is `socket_id:channel[:user]`.
static void sign(const char *greeting, size_t count, const char *name, const char *user,
                 char signature[HEX_LENGTH_MAX]) {
    const char *key = memmem(greeting, count, "socket_id", 9);
    const char *end = greeting + count;
    const char *socket_id = key ? key + 9 : end;
    while (socket_id < end && (*socket_id < '0' || *socket_id > '9'))
        socket_id++;
    int length = 0;
    while (socket_id + length < end && strchr("0123456789.", socket_id[length]))
        length++;
    char text[1024];
    int text_length =
        snprintf(text, sizeof text, "%.*s:%s%s%s", length, socket_id, name, *user ? ":" : "", user);
    hmac_hex(text, (size_t)text_length, signature);
}

static void pusher_subscribe(struct connection *connection, uint32_t channel, const char *greeting,
                             size_t count) {
    char name[NAME_MAX_LENGTH], message[1024], signature[HEX_LENGTH_MAX];
    channel_name(channel, name, sizeof name);
    const char *position = options.tracks ? ",\"position\":{}" : "";
    if (has_prefix(name, "presence-")) {
        char user[64];
        snprintf(user, sizeof user, "{\"user_id\":\"%u\"}", connection->index);
        sign(greeting, count, name, user, signature);
        snprintf(message, sizeof message,
                 "{\"event\":\"pusher:subscribe\",\"data\":{\"auth\":\"%s:%s\","
                 "\"channel_data\":\"{\\\"user_id\\\":\\\"%u\\\"}\",\"channel\":\"%s\"%s}}",
                 options.key, signature, connection->index, name, position);
    } else if (has_prefix(name, "private-")) {
        sign(greeting, count, name, "", signature);
        snprintf(message, sizeof message,
                 "{\"event\":\"pusher:subscribe\",\"data\":{\"auth\":\"%s:%s\","
                 "\"channel\":\"%s\"%s}}",
                 options.key, signature, name, position);
    } else {
        snprintf(message, sizeof message,
                 "{\"event\":\"pusher:subscribe\",\"data\":{\"channel\":\"%s\"%s}}", name,
                 position);
    }
    websocket_write(connection, TEXT, message, strlen(message));
}

// A client event may only be sent by a subscriber of its channel.
static int subscription_count(const struct connection *connection) {
    return connection->kind == SUBSCRIBER ? options.subscriptions : options.channels;
}

static void pusher_greeted(struct connection *connection, const char *bytes, size_t count) {
    if (!contains(bytes, count, "connection_established")) {
        note_answer(bytes, count);
        return;
    }
    for (int i = 0; i < subscription_count(connection); i++) {
        uint32_t channel = connection->channel + (uint32_t)i;
        pusher_subscribe(connection, channel % (uint32_t)options.channels, bytes, count);
    }
    connection->state = SUBSCRIBING;
    connection_flush(connection);
}

static void pusher_subscribed(struct connection *connection, const char *bytes, size_t count) {
    if (contains(bytes, count, "subscription_succeeded")) {
        connection->confirmed++;
        if (connection->confirmed == (uint32_t)subscription_count(connection)) {
            connection_ready(connection);
        }
    } else if (contains(bytes, count, "error")) {
        note_answer(bytes, count);
    }
}

// NATS: lines of text in binary frames

static void nats_greeted(struct connection *connection, const char *bytes, size_t count) {
    if (!contains(bytes, count, "INFO")) return;
    char name[NAME_MAX_LENGTH], message[512], subscribe[NAME_MAX_LENGTH + 16] = "";
    channel_name(connection->channel, name, sizeof name);
    if (connection->kind == SUBSCRIBER) {
        snprintf(subscribe, sizeof subscribe, "SUB %s 1\r\n", name);
    }
    snprintf(message, sizeof message,
             "CONNECT {\"verbose\":false,\"pedantic\":false,\"protocol\":1}\r\n%sPING\r\n",
             subscribe);
    connection->state = SUBSCRIBING;
    say(connection, BINARY, message);
}

static void nats_subscribed(struct connection *connection, const char *bytes, size_t count) {
    if (contains(bytes, count, "PONG")) {
        connection_ready(connection);
    } else if (contains(bytes, count, "-ERR")) {
        note_answer(bytes, count);
    }
}

// MQTT 3.1.1: packets in binary frames

enum { MQTT_CONNECT = 0x10, MQTT_CONNACK = 0x20, MQTT_PUBLISH = 0x30 };
enum { MQTT_SUBSCRIBE = 0x82, MQTT_SUBACK = 0x90, MQTT_CLEAN_SESSION = 2 };

static void append_string(struct buffer *packet, const char *text) {
    size_t count = strlen(text);
    unsigned char length[2] = {(unsigned char)(count >> 8), (unsigned char)count};
    buffer_append(packet, length, sizeof length);
    buffer_append(packet, text, count);
}

// Sends the type, the length in groups of seven bits, and the body.
static void mqtt_write(struct connection *connection, unsigned char type, struct buffer *body) {
    unsigned char header[5] = {type};
    size_t rest = buffer_count(body), count = 1;
    do {
        header[count++] = (unsigned char)((rest & 127) | (rest > 127 ? 128 : 0));
        rest >>= 7;
    } while (rest > 0);
    struct buffer packet = {0};
    buffer_append(&packet, header, count);
    buffer_append(&packet, buffer_bytes(body), buffer_count(body));
    websocket_write(connection, BINARY, buffer_bytes(&packet), buffer_count(&packet));
    buffer_free(&packet);
    buffer_free(body);
}

static void mqtt_connect(struct connection *connection) {
    struct buffer body = {0};
    char identifier[32];
    snprintf(identifier, sizeof identifier, "w%d-%u", connection->kind, connection->index);
    append_string(&body, "MQTT");
    // Version 4, and no keep-alive.
    buffer_append(&body, (unsigned char[]){4, MQTT_CLEAN_SESSION, 0, 0}, 4);
    append_string(&body, identifier);
    mqtt_write(connection, MQTT_CONNECT, &body);
    connection_flush(connection);
}

static void mqtt_greeted(struct connection *connection, const char *bytes) {
    if ((unsigned char)bytes[0] != MQTT_CONNACK) return;
    if (connection->kind != SUBSCRIBER) {
        connection_ready(connection);
        return;
    }
    struct buffer body = {0};
    char name[NAME_MAX_LENGTH];
    channel_name(connection->channel, name, sizeof name);
    // The packet's number, then the topic and its quality of service: 0.
    buffer_append(&body, (unsigned char[]){0, 1}, 2);
    append_string(&body, name);
    buffer_append(&body, (unsigned char[]){0}, 1);
    mqtt_write(connection, MQTT_SUBSCRIBE, &body);
    connection->state = SUBSCRIBING;
    connection_flush(connection);
}

// Any of them

void protocol_opened(struct connection *connection) {
    connection->state = GREETING;
    if (options.mode == MODE_RAW) {
        connection_ready(connection);
        if (options.scenario == SCENARIO_CHURN) churn_leave(connection);
    }
    if (options.mode == MODE_MQTT) mqtt_connect(connection);
}

static void received_ready(struct connection *connection, const char *bytes, size_t count,
                           uint64_t time) {
    if (connection->kind == SUBSCRIBER && deliver(connection, bytes, count, time)) return;
    if (options.mode == MODE_NATS && contains(bytes, count, "PING\r\n")) {
        say(connection, BINARY, "PONG\r\n");
    } else if (options.mode == MODE_PUSHER && contains(bytes, count, "pusher:ping")) {
        say(connection, TEXT, "{\"event\":\"pusher:pong\",\"data\":{}}");
    } else if (contains(bytes, count, "pusher:error")) {
        note_answer(bytes, count);
    }
}

static void received_greeting(struct connection *connection, const char *bytes, size_t count) {
    switch (options.mode) {
    case MODE_PUSHER:
        pusher_greeted(connection, bytes, count);
        break;
    case MODE_NATS:
        nats_greeted(connection, bytes, count);
        break;
    case MODE_MQTT:
        mqtt_greeted(connection, bytes);
        break;
    case MODE_RAW:
        break;
    }
}

static void received_subscription(struct connection *connection, const char *bytes, size_t count) {
    switch (options.mode) {
    case MODE_PUSHER:
        pusher_subscribed(connection, bytes, count);
        break;
    case MODE_NATS:
        nats_subscribed(connection, bytes, count);
        break;
    case MODE_MQTT:
        if ((unsigned char)bytes[0] == MQTT_SUBACK) connection_ready(connection);
        break;
    case MODE_RAW:
        break;
    }
}

void protocol_received(struct connection *connection, const char *bytes, size_t count,
                       uint64_t time) {
    if (count == 0) return;
    switch (connection->state) {
    case READY:
        received_ready(connection, bytes, count, time);
        break;
    case GREETING:
        received_greeting(connection, bytes, count);
        break;
    case SUBSCRIBING:
        received_subscription(connection, bytes, count);
        break;
    default:
        break;
    }
    bool is_done = connection->state == READY && connection->kind == SUBSCRIBER;
    if (is_done && options.scenario == SCENARIO_CHURN) churn_leave(connection);
}

void protocol_publish(struct connection *publisher, uint32_t channel, const char *data) {
    static char text[MESSAGE_MAX + NAME_MAX_LENGTH + 64];
    char name[NAME_MAX_LENGTH];
    channel_name(channel, name, sizeof name);
    int count;
    switch (options.mode) {
    case MODE_PUSHER:
        count = snprintf(text, sizeof text,
                         "{\"event\":\"client-b\",\"channel\":\"%s\",\"data\":\"%s\"}", name, data);
        websocket_write(publisher, TEXT, text, (size_t)count);
        break;
    case MODE_NATS:
        count = snprintf(text, sizeof text, "PUB %s %d\r\n%s\r\n", name, options.size, data);
        websocket_write(publisher, BINARY, text, (size_t)count);
        break;
    case MODE_MQTT: {
        struct buffer body = {0};
        append_string(&body, name);
        buffer_append(&body, data, (size_t)options.size);
        mqtt_write(publisher, MQTT_PUBLISH, &body);
        break;
    }
    case MODE_RAW:
        websocket_write(publisher, TEXT, data, (size_t)options.size);
        break;
    }
}
