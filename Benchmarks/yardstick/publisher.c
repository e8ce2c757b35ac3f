#include "publisher.h"
#include "delivery.h"
#include "digests.h"
#include "event_loop.h"
#include "options.h"
#include "protocol.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// How many messages are sent before sockets are looked at again.
enum { BURST_MAX = 256, NAME_MAX_LENGTH = 256, BODY_MAX = 1 << 17 };
enum { SIGNATURE_SECONDS = 30, STALL_SECONDS = 30 };
#define NEVER UINT64_MAX

static struct connection publisher;
static char *data;
// Channels in a random order, the same in every run.
static uint32_t *order;
// What signatures carry; renewed now and then, as signing a second time is no part of a publish.
static time_t signed_at;

static struct phase phase;
static uint64_t started_at, ends_at, next_due, sent;
static uint32_t place;

static void prepare_data(void) {
    static const char words[] =
        "price of item number twelve changed from eleven to thirteen in the eu region at noon; ";
    data = malloc((size_t)options.size + 1);
    uint64_t random = 7;
    // Two thirds words, one third digits: it compresses about as well as messages do.
    for (int i = 0; i < options.size; i++) {
        random = random * 6364136223846793005u + 1;
        data[i] = i / 8 % 3 == 2 ? "0123456789abcdef"[random >> 60]
                                 : words[(size_t)i % (sizeof words - 1)];
    }
    data[options.size] = 0;
}

static void prepare_order(void) {
    uint32_t count = (uint32_t)options.channels;
    order = malloc(count * sizeof *order);
    for (uint32_t i = 0; i < count; i++)
        order[i] = i;
    uint64_t random = 88172645463325252u;
    for (uint32_t i = count - 1; i > 0; i--) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t other = (uint32_t)(random % (i + 1)), moved = order[i];
        order[i] = order[other];
        order[other] = moved;
    }
}

bool publisher_open(void) {
    prepare_data();
    prepare_order();
    bool is_http = options.publishing != PUBLISH_WEBSOCKET;
    connection_open(&publisher, is_http ? HTTP_PUBLISHER : WEBSOCKET_PUBLISHER, 0);
    // Nobody's channel, but for client events, whose sender is on all channels.
    publisher.channel = options.mode == MODE_PUSHER ? 0 : (uint32_t)options.channels;
    while (publisher.state != READY) {
        if (publisher.state == DEAD || out_of_time()) {
            note_error("the publisher cannot connect");
            return false;
        }
        event_loop_turn(now_ns() + 20 * MILLISECOND);
    }
    return true;
}

// HTTP

static void write_request(const char *target, const char *type, const char *body, size_t count) {
    char head[2048];
    int length = snprintf(head, sizeof head,
                          "POST %s HTTP/1.1\r\n"
                          "Host: %s:%d\r\n"
                          "Content-Type: %s\r\n"
                          "Content-Length: %zu\r\n"
                          "\r\n",
                          target, options.host, options.publish_port, type, count);
    connection_write(&publisher, head, (size_t)length);
    connection_write(&publisher, body, count);
    publisher.unanswered++;
    totals.http_sent++;
}

static void trigger(uint32_t channel) {
    static char body[BODY_MAX];
    char name[NAME_MAX_LENGTH], digest[HEX_LENGTH_MAX], signature[HEX_LENGTH_MAX];
    char query[512], text[1024], target[1024];
    channel_name(channel, name, sizeof name);
    int count = snprintf(body, sizeof body, "{\"name\":\"b\",\"channel\":\"%s\",\"data\":\"%s\"}",
                         name, data);
    md5_hex(body, (size_t)count, digest);
    snprintf(query, sizeof query, "auth_key=%s&auth_timestamp=%ld&auth_version=1.0&body_md5=%s",
             options.key, (long)signed_at, digest);
    int length = snprintf(text, sizeof text, "POST\n/apps/%s/events\n%s", options.app_id, query);
    hmac_hex(text, (size_t)length, signature);
    snprintf(target, sizeof target, "/apps/%s/events?%s&auth_signature=%s", options.app_id, query,
             signature);
    write_request(target, "application/json", body, (size_t)count);
}

static void post(uint32_t channel) {
    char target[512];
    expand_channel(options.publish_path, channel, target, sizeof target);
    write_request(target, "text/plain", data, (size_t)options.size);
}

// The bytes of the answer at the front, and its status; 0 when it is not complete.
static size_t read_answer(const char *bytes, size_t count, int *status) {
    const char *end = memmem(bytes, count, "\r\n\r\n", 4);
    if (!end) return 0;
    size_t length = (size_t)(end - bytes) + 4, content = 0;
    bool is_chunked = false;
    *status = length > 12 ? atoi(bytes + 9) : 0;
    for (const char *line = bytes; line < end; line++) {
        line = memchr(line, '\n', (size_t)(end + 2 - line));
        if (!line) break;
        if (strncasecmp(line + 1, "content-length:", 15) == 0) {
            content = strtoul(line + 16, NULL, 10);
        } else if (strncasecmp(line + 1, "transfer-encoding: chunked", 26) == 0) {
            is_chunked = true;
        }
    }
    if (*status == 204) return length;
    if (is_chunked) {
        const char *last = memmem(bytes + length, count - length, "0\r\n\r\n", 5);
        return last ? (size_t)(last - bytes) + 5 : 0;
    }
    return length + content <= count ? length + content : 0;
}

void publisher_received(struct connection *connection, const char *bytes, size_t count) {
    struct buffer *received = &connection->received;
    buffer_append(received, bytes, count);
    size_t length;
    int status;
    while ((length = read_answer(buffer_bytes(received), buffer_count(received), &status)) > 0) {
        if (status >= 200 && status < 300) {
            totals.http_succeeded++;
        } else {
            totals.http_failed++;
            note_error("an HTTP publish was answered: %.*s", (int)(length > 200 ? 200 : length),
                       buffer_bytes(received));
        }
        connection->unanswered--;
        buffer_consume(received, length);
    }
}

// Pace

static void publish(uint32_t channel, uint64_t time) {
    write_marker(data, channel, next_sequence(channel), time);
    switch (options.publishing) {
    case PUBLISH_PUSHER_HTTP:
        trigger(channel);
        break;
    case PUBLISH_HTTP:
        post(channel);
        break;
    case PUBLISH_WEBSOCKET:
        protocol_publish(&publisher, channel, data);
        break;
    }
    totals.sent++;
    totals.expected += listeners(channel);
}

static bool has_sent_all(uint64_t now) {
    return phase.messages > 0 ? sent >= phase.messages : now >= ends_at;
}

// A window counts deliveries: several small channels fill it as one large one does.
static bool is_window_full(void) {
    uint64_t subscriptions = (uint64_t)options.subscribers * (uint64_t)options.subscriptions;
    uint64_t audience =
        (subscriptions + (uint64_t)options.channels - 1) / (uint64_t)options.channels;
    int64_t outstanding = (int64_t)(totals.expected - totals.delivered);
    return outstanding >= phase.window * (int64_t)audience;
}

// Publishes what is due, or what the window has room for.
static void publish_some(void) {
    if (publisher.state == DEAD) return;
    uint64_t now = now_ns();
    bool has_published = false;
    next_due = NEVER;
    for (int burst = 0; burst < BURST_MAX && !has_sent_all(now); burst++) {
        uint64_t time = now;
        if (phase.rate > 0) {
            // The time it was due, not the time it went: a stall counts for all that it delays.
            time = started_at + (uint64_t)((double)sent * SECOND / phase.rate);
            if (phase.messages == 0 && time >= ends_at) {
                phase.messages = sent > 0 ? sent : 1;
                break;
            }
            if (time > now) {
                next_due = time;
                break;
            }
        } else if (is_window_full()) {
            break;
        }
        bool awaits_answers = options.publishing != PUBLISH_WEBSOCKET;
        if (awaits_answers && publisher.unanswered >= options.unanswered_max) break;
        publish(order[place], time);
        place = (place + 1) % (uint32_t)options.channels;
        sent++;
        has_published = true;
    }
    if (has_published) connection_flush(&publisher);
}

static bool is_complete(void) {
    bool is_delivered = totals.delivered + totals.gaps >= totals.expected;
    bool is_answered = totals.http_succeeded + totals.http_failed >= totals.http_sent;
    return is_delivered && is_answered;
}

static bool wait_for_phase(void) {
    uint64_t delivered = totals.delivered, progress_at = now_ns();
    for (;;) {
        if (time(NULL) - signed_at > SIGNATURE_SECONDS) signed_at = time(NULL);
        publish_some();
        uint64_t until = now_ns() + 20 * MILLISECOND;
        event_loop_turn(next_due < until ? next_due : until);

        uint64_t now = now_ns();
        if (has_sent_all(now) && is_complete()) return true;
        if (publisher.state == DEAD) {
            note_error("the publisher's connection is lost");
            return false;
        }
        if (out_of_time()) return false;
        double patience = has_sent_all(now) ? options.drain : STALL_SECONDS;
        if (totals.delivered != delivered) {
            delivered = totals.delivered;
            progress_at = now;
        } else if ((double)(now - progress_at) > patience * SECOND) {
            note_error("no message came for %.0f s", patience);
            return false;
        }
    }
}

bool publisher_run(struct phase wanted) {
    phase = wanted;
    sent = 0;
    started_at = now_ns();
    ends_at = started_at + (uint64_t)(phase.seconds * SECOND);
    signed_at = time(NULL);
    between_events = publish_some;
    bool is_complete = wait_for_phase();
    between_events = NULL;
    return is_complete;
}
