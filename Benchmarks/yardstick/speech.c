#include "digests.h"
#include "rawfan.h"
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 1, CLOSE = 8, NAME_MAX_LENGTH = 63, REPLIES_MAX = 1 << 16, FRAME_MAX = 1 << 17 };

static uint32_t write_frame(char *output, const char *payload, uint32_t count) {
    uint32_t header = 2;
    output[0] = (char)(0x80 | TEXT);
    if (count < 126) {
        output[1] = (char)count;
    } else if (count < 65536) {
        output[1] = 126;
        output[2] = (char)(count >> 8);
        output[3] = (char)count;
        header = 4;
    } else {
        output[1] = 127;
        for (int i = 0; i < 8; i++)
            output[2 + i] = (char)((uint64_t)count >> (56 - 8 * i));
        header = 10;
    }
    memcpy(output + header, payload, count);
    return header + count;
}

// The text behind `key` up to its closing quote, escapes left as they are.
static const char *find_text(const char *bytes, const char *end, const char *key, int *length) {
    const char *text = memmem(bytes, (size_t)(end - bytes), key, strlen(key));
    if (!text) return NULL;
    text += strlen(key);
    const char *quote = text;
    while (quote < end && *quote != '"')
        quote += *quote == '\\' ? 2 : 1;
    *length = (int)(quote - text);
    return text;
}

// POST /apps/…/events: neither the signature nor the JSON is checked.
static void trigger(struct thread *thread, const char *body, const char *end) {
    static __thread char text[FRAME_MAX], frame[FRAME_MAX];
    int name_length, channel_length, data_length;
    const char *name = find_text(body, end, "\"name\":\"", &name_length);
    const char *channel = find_text(body, end, "\"channel\":\"", &channel_length);
    const char *data = find_text(body, end, "\"data\":\"", &data_length);
    if (!name || !channel || !data || channel_length > NAME_MAX_LENGTH) return;
    int count = snprintf(text, sizeof text - 16,
                         "{\"event\":\"%.*s\",\"channel\":\"%.*s\",\"data\":\"%.*s\"}", name_length,
                         name, channel_length, channel, data_length, data);
    publish(thread, channel, channel_length, frame, write_frame(frame, text, (uint32_t)count));
}

static void accept_upgrade(struct client *client, const char *key) {
    char text[128], accept[32], response[512];
    unsigned char digest[20];
    int count = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    sha1(text, (size_t)count, digest);
    EVP_EncodeBlock((unsigned char *)accept, digest, sizeof digest);
    count = snprintf(response, sizeof response,
                     "HTTP/1.1 101 Switching Protocols\r\n"
                     "Upgrade: websocket\r\n"
                     "Connection: Upgrade\r\n"
                     "Sec-WebSocket-Accept: %s\r\n"
                     "\r\n",
                     accept);
    static const char greeting[] =
        "{\"event\":\"pusher:connection_established\","
        "\"data\":\"{\\\"socket_id\\\":\\\"1.1\\\",\\\"activity_timeout\\\":120}\"}";
    count += (int)write_frame(response + count, greeting, sizeof greeting - 1);
    client_send(client, response, (size_t)count);
    client->is_websocket = true;
}

static void subscribe(struct thread *thread, struct client *client, const char *text,
                      const char *end) {
    int length;
    const char *name = find_text(text, end, "\"channel\":\"", &length);
    bool is_wanted = memmem(text, (size_t)(end - text), "pusher:subscribe", 16) != NULL;
    if (!name || !is_wanted || client->channel || length > NAME_MAX_LENGTH) return;
    client_subscribe(thread, client, name, length);
    char answer[256], frame[300];
    int count = snprintf(answer, sizeof answer,
                         "{\"event\":\"pusher_internal:subscription_succeeded\","
                         "\"channel\":\"%.*s\",\"data\":\"{}\"}",
                         length, name);
    client_send(client, frame, write_frame(frame, answer, (uint32_t)count));
}

// Answers to pipelined requests leave together.
struct replies {
    char bytes[REPLIES_MAX];
    size_t count;
};

static void reply(struct client *client, struct replies *replies) {
    static const char ok[] =
        "HTTP/1.1 200 OK\r\n"
        "Content-Type: application/json\r\n"
        "Content-Length: 2\r\n"
        "\r\n"
        "{}";
    if (replies->count + sizeof ok > sizeof replies->bytes) {
        client_send(client, replies->bytes, replies->count);
        replies->count = 0;
    }
    memcpy(replies->bytes + replies->count, ok, sizeof ok - 1);
    replies->count += sizeof ok - 1;
}

// Both readers return the bytes consumed: 0 when more are needed, negative to close.

static ssize_t read_request(struct thread *thread, struct client *client, char *bytes, size_t count,
                            struct replies *replies) {
    char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t head = (size_t)(end - bytes) + 4;
    const char *key = memmem(bytes, head, "Sec-WebSocket-Key: ", 19);
    if (key) {
        accept_upgrade(client, key + 19);
        return (ssize_t)head;
    }
    const char *length = memmem(bytes, head, "Content-Length: ", 16);
    size_t body = length ? strtoul(length + 16, NULL, 10) : 0;
    if (count < head + body) return 0;
    trigger(thread, bytes + head, bytes + head + body);
    reply(client, replies);
    return (ssize_t)(head + body);
}

static ssize_t read_frame(struct thread *thread, struct client *client, char *bytes, size_t count) {
    if (count < 6) return 0;
    size_t length = bytes[1] & 127, header = 6;
    if (length == 127) return -1;
    if (length == 126) {
        header = 8;
        length = (size_t)(uint8_t)bytes[2] << 8 | (uint8_t)bytes[3];
    }
    if (count < header + length) return 0;
    const char *mask = bytes + header - 4;
    char *payload = bytes + header;
    for (size_t i = 0; i < length; i++)
        payload[i] ^= mask[i & 3];
    switch (bytes[0] & 15) {
    case TEXT:
        subscribe(thread, client, payload, payload + length);
        break;
    case CLOSE: {
        static const char close[] = {(char)(0x80 | CLOSE), 2, 1000 >> 8, (char)(1000 & 255)};
        client_send(client, close, sizeof close);
        return -1;
    }
    }
    return (ssize_t)(header + length);
}

bool client_received(struct thread *thread, struct client *client, char *bytes, size_t count) {
    static __thread struct replies replies;
    replies.count = 0;
    struct buffer *incomplete = &client->incomplete;
    bool is_kept = buffer_count(incomplete) > 0;
    if (is_kept) {
        buffer_append(incomplete, bytes, count);
        bytes = buffer_bytes(incomplete);
        count = buffer_count(incomplete);
    }
    size_t consumed = 0;
    while (consumed < count) {
        char *rest = bytes + consumed;
        size_t available = count - consumed;
        ssize_t taken = client->is_websocket
                            ? read_frame(thread, client, rest, available)
                            : read_request(thread, client, rest, available, &replies);
        if (taken < 0) return false;
        if (taken == 0) break;
        consumed += (size_t)taken;
    }
    if (replies.count > 0) client_send(client, replies.bytes, replies.count);
    if (is_kept) {
        buffer_consume(incomplete, consumed);
    } else {
        buffer_append(incomplete, bytes + consumed, count - consumed);
    }
    if (client->is_websocket && buffer_count(incomplete) == 0) buffer_free(incomplete);
    return true;
}
