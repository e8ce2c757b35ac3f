// One thread waits for all connections.
#pragma once
#include "connection.h"

void event_loop_start(void);
void event_loop_add(int descriptor, struct connection *connection);
void event_loop_change(int descriptor, struct connection *connection, bool awaits_writable);
// Handles what is ready, waiting until `deadline` (nanoseconds) if nothing is.
void event_loop_turn(uint64_t deadline);
// Handles what becomes ready in the next `seconds`.
void event_loop_run(double seconds);
// Whether the whole run has used up its time.
bool out_of_time(void);
// Called often while many connections are ready, so that publishes keep their times.
extern void (*between_events)(void);

// Nanoseconds of the monotonic clock.
uint64_t now_ns(void);
enum { MILLISECOND = 1000 * 1000, SECOND = 1000 * MILLISECOND };
