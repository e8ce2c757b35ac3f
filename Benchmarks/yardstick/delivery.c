#include "delivery.h"
#include "options.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct totals totals;
bool is_measuring;

// The next sequence number of each channel, and how many listen to it.
static uint32_t *sequences, *channel_listeners;
// What each subscriber expects next of each of its channels.
static uint32_t *expected;

void note_error(const char *format, ...) {
    if (totals.errors++ > 0) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(totals.first_error, sizeof totals.first_error, format, arguments);
    va_end(arguments);
    // It becomes a JSON string.
    for (char *c = totals.first_error; *c; c++) {
        if (*c == '"' || *c == '\\' || iscntrl((unsigned char)*c)) *c = '\'';
    }
}

void delivery_prepare(void) {
    sequences = calloc((size_t)options.channels, sizeof *sequences);
    channel_listeners = calloc((size_t)options.channels, sizeof *channel_listeners);
    int most =
        options.subscribers > options.concurrency ? options.subscribers : options.concurrency;
    expected = calloc((size_t)most * (size_t)options.subscriptions, sizeof *expected);
}

uint32_t next_sequence(uint32_t channel) {
    return sequences[channel]++;
}

uint32_t listeners(uint32_t channel) {
    return channel_listeners[channel];
}

static uint32_t channel_of(const struct connection *connection, int subscription) {
    return (connection->channel + (uint32_t)subscription) % (uint32_t)options.channels;
}

void count_listeners(const struct connection *connections, int count) {
    for (int i = 0; i < count; i++) {
        if (connections[i].state != READY) continue;
        for (int k = 0; k < options.subscriptions; k++) {
            channel_listeners[channel_of(&connections[i], k)]++;
        }
    }
}

uint64_t missing_deliveries(const struct connection *connections, int count) {
    uint64_t missing = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < options.subscriptions; k++) {
            uint32_t sent = sequences[channel_of(&connections[i], k)];
            uint32_t next = expected[i * options.subscriptions + k];
            if (next < sent) missing += sent - next;
        }
    }
    return missing;
}

// Markers

struct marker {
    uint32_t channel, sequence;
    uint64_t time;
};

void write_marker(char *output, uint32_t channel, uint32_t sequence, uint64_t time) {
    char text[MARKER_LENGTH + 1];
    snprintf(text, sizeof text, MARKER_MAGIC "%06x%08x%016llx", channel & 0xffffff, sequence,
             (unsigned long long)time);
    memcpy(output, text, MARKER_LENGTH);
}

static uint64_t from_hex(const char *text, int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; i++) {
        char digit = text[i];
        value = value << 4 | (uint64_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

// The same message goes to many: it is read once, then compared.
static const struct marker *read_marker(const char *text) {
    static char last_text[MARKER_LENGTH];
    static struct marker last;
    if (memcmp(text, last_text, MARKER_LENGTH) != 0) {
        last.channel = (uint32_t)from_hex(text + 4, 6);
        last.sequence = (uint32_t)from_hex(text + 10, 8);
        last.time = from_hex(text + 18, 16);
        memcpy(last_text, text, MARKER_LENGTH);
    }
    return &last;
}

// Every subscriber must see every number of its channel, once and in order.
static void judge(const struct connection *connection, const char *text, uint64_t time) {
    const struct marker *marker = read_marker(text);
    uint32_t place = marker->channel - connection->channel;
    if ((int32_t)place < 0) place += (uint32_t)options.channels;
    if (place >= (uint32_t)options.subscriptions) {
        note_error("a message of channel %u came to a subscriber of channel %u", marker->channel,
                   connection->channel);
        return;
    }
    uint32_t *next = &expected[connection->index * (uint32_t)options.subscriptions + place];
    if (marker->sequence < *next) {
        totals.duplicates++;
        return;
    }
    if (marker->sequence > *next) {
        totals.gaps += marker->sequence - *next;
        totals.reorders++;
    }
    *next = marker->sequence + 1;
    totals.delivered++;
    if (is_measuring) record_latency(time < marker->time ? 0 : time - marker->time);
}

bool deliver(struct connection *connection, const char *bytes, size_t count, uint64_t time) {
    size_t size = (size_t)options.size;
    size_t offset = connection->marker_offset;
    bool found = false;
    // Messages of a channel look alike, so the marker is where it was the last time.
    if (offset + MARKER_LENGTH <= count && memcmp(bytes + offset, MARKER_MAGIC, 4) == 0) {
        judge(connection, bytes + offset, time);
        found = true;
        offset += size;
    } else {
        offset = 0;
    }
    while (offset + MARKER_LENGTH <= count) {
        const char *marker = memmem(bytes + offset, count - offset, MARKER_MAGIC, 4);
        if (!marker || marker + MARKER_LENGTH > bytes + count) break;
        offset = (size_t)(marker - bytes);
        if (!found) connection->marker_offset = (uint32_t)offset;
        found = true;
        judge(connection, marker, time);
        offset += size;
    }
    return found;
}

// Latencies, in buckets of 1/32 of their value

enum { BUCKETS = 64, STEPS = 64 };
static uint64_t histogram[BUCKETS * STEPS], recorded, longest;

void record_latency(uint64_t nanoseconds) {
    int shift = nanoseconds < STEPS ? 0 : 63 - __builtin_clzll(nanoseconds) - 5;
    histogram[shift * STEPS + (int)(nanoseconds >> shift)]++;
    recorded++;
    if (nanoseconds > longest) longest = nanoseconds;
}

double latency(double share) {
    uint64_t rank = (uint64_t)(share * (double)recorded), seen = 0;
    if (rank >= recorded && recorded > 0) rank = recorded - 1;
    for (int i = 0; i < BUCKETS * STEPS; i++) {
        seen += histogram[i];
        if (seen > rank) return (double)((uint64_t)(i % STEPS) << (i / STEPS)) / 1000;
    }
    return latency_max();
}

double latency_max(void) {
    return (double)longest / 1000;
}

uint64_t latency_count(void) {
    return recorded;
}
