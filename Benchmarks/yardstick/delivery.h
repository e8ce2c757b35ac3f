// Judges what subscribers receive, and adds up the run.
#pragma once
#include "connection.h"

// A marker in each message: its channel, sequence number and time, in hexadecimal.
#define MARKER_MAGIC "@~Q:"
enum { MARKER_LENGTH = 4 + 6 + 8 + 16 };

struct totals {
    uint64_t ready, dead, errors;
    uint64_t http_sent, http_succeeded, http_failed;
    uint64_t sent, expected; // messages, and deliveries that they should lead to
    uint64_t delivered;      // in order, or after a gap
    uint64_t gaps, reorders, duplicates;
    uint64_t bytes_read, reads;
    char first_error[256];
};
extern struct totals totals;

// Whether latencies count: not during warm-up.
extern bool is_measuring;

void note_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Makes room for the sequence numbers of all subscribers and channels.
void delivery_prepare(void);
void write_marker(char *output, uint32_t channel, uint32_t sequence, uint64_t time);
uint32_t next_sequence(uint32_t channel);
// Counts those who are ready as listeners of their channels, and says how many a channel has.
void count_listeners(const struct connection *connections, int count);
uint32_t listeners(uint32_t channel);
// Finds the messages in the bytes of a frame, which several protocols let carry more than one;
// false when there was none.
bool deliver(struct connection *connection, const char *bytes, size_t count, uint64_t time);
// What listeners have not received of the messages sent so far.
uint64_t missing_deliveries(const struct connection *connections, int count);

void record_latency(uint64_t nanoseconds);
// The latency that `share` (0…1) of the deliveries did not exceed, in microseconds.
double latency(double share);
double latency_max(void);
uint64_t latency_count(void);
