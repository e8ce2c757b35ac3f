// Sends the messages, at fixed times or as fast as they are delivered.
#pragma once
#include "connection.h"

struct phase {
    double rate;       // messages a second; 0 for saturation
    long window;       // saturation: messages outstanding, counted in deliveries
    uint64_t messages; // how many; 0 for as many as `seconds` hold
    double seconds;
};

// Connects and waits until it can publish; false when that fails.
bool publisher_open(void);
// Publishes, and waits for all deliveries and answers; false when some do not come.
bool publisher_run(struct phase phase);
// Counts the HTTP answers in what was read.
void publisher_received(struct connection *publisher, const char *bytes, size_t count);
