// The line of JSON, and the window of time that it is about.
#pragma once
#include "accounting.h"
#include <stdbool.h>
#include <stdint.h>

struct report {
    const char *scenario;
    struct cpu_time before, after;
    uint64_t started_at;
    double seconds;
    char fields[2048]; // of the scenario alone
};

struct report report_begin(const char *scenario);
void report_start(struct report *report);
void report_stop(struct report *report);
// CPU time used between start and stop.
struct cpu_time report_used(const struct report *report);
void report_count(struct report *report, const char *name, uint64_t value);
void report_real(struct report *report, const char *name, double value, int decimals);
void report_end(const struct report *report, bool is_ok, int connections, int deflated);
