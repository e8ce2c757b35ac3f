#include "scenarios.h"
#include "accounting.h"
#include "delivery.h"
#include "event_loop.h"
#include "options.h"
#include "publisher.h"
#include "report.h"
#include "websocket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONNECT_PATIENCE_SECONDS = 20, CHURN_MESSAGES = 10000 };

static double seconds_since(uint64_t time) {
    return (double)(now_ns() - time) / SECOND;
}

static double per(double amount, double count) {
    return amount / (count > 0 ? count : 1);
}

// Subscribers

static struct connection *subscribers;
static int opened;

// Opens connections, a bounded number at a time, until all are subscribed.
static bool subscribe_all(void) {
    uint64_t count = (uint64_t)options.subscribers, ready = 0, progress_at = now_ns();
    subscribers = calloc(count, sizeof *subscribers);
    for (uint64_t i = 0; i < count; i++)
        subscribers[i].descriptor = -1;
    while (totals.ready + totals.dead < count && !out_of_time()) {
        int settled = (int)(totals.ready + totals.dead);
        while (opened < options.subscribers && opened - settled < options.connecting_max) {
            connection_open(&subscribers[opened], SUBSCRIBER, (uint32_t)opened);
            subscribers[opened].channel = (uint32_t)opened % (uint32_t)options.channels;
            opened++;
        }
        event_loop_turn(now_ns() + 20 * MILLISECOND);
        if (totals.ready != ready) {
            ready = totals.ready;
            progress_at = now_ns();
        } else if (seconds_since(progress_at) > CONNECT_PATIENCE_SECONDS) {
            note_error("connecting has stalled");
            break;
        }
    }
    count_listeners(subscribers, opened);
    return totals.ready == count;
}

static int count_deflated(void) {
    int count = 0;
    for (int i = 0; i < opened; i++)
        count += subscribers[i].is_deflated;
    return count;
}

// Fan-out

static void report_fanout(struct report *report, double setup, const struct totals *before,
                          bool *is_ok) {
    uint64_t messages = totals.sent - before->sent;
    uint64_t delivered = totals.delivered - before->delivered;
    uint64_t missing = missing_deliveries(subscribers, opened);
    double count = (double)delivered;
    struct cpu_time used = report_used(report);
    report_real(report, "setup_s", setup, 3);
    report_count(report, "messages", messages);
    report_real(report, "msgs_per_s", per((double)messages, report->seconds), 1);
    report_count(report, "expected", totals.expected - before->expected);
    report_count(report, "deliveries", delivered);
    report_count(report, "missing", missing);
    report_count(report, "gaps", totals.gaps);
    report_count(report, "reorders", totals.reorders);
    report_count(report, "dups", totals.duplicates);
    report_real(report, "deliveries_per_s", per(count, report->seconds), 0);
    report_real(report, "srv_cpu_us_per_delivery", per(used.server * 1e6, count), 4);
    report_real(report, "gen_cpu_us_per_delivery", per(used.own * 1e6, count), 4);
    report_real(report, "reads_per_delivery", per((double)(totals.reads - before->reads), count),
                3);
    report_real(report, "bytes_per_delivery",
                per((double)(totals.bytes_read - before->bytes_read), count), 1);
    report_count(report, "http_ok", totals.http_succeeded);
    report_count(report, "http_err", totals.http_failed);
    report_real(report, "rss_kib", memory().resident, 0);
    if (missing > 0 || totals.duplicates > 0 || totals.gaps > 0) *is_ok = false;
}

bool run_fanout(void) {
    struct report report = report_begin(options.channels > 1 ? "many" : "fanout");
    uint64_t began_at = now_ns();
    bool is_ok = subscribe_all();
    double setup = seconds_since(began_at);
    is_ok = publisher_open() && is_ok;
    if (is_ok && options.warmup > 0) {
        // One at a time: each server then sends as many segments, whether or not it gathers what
        // comes together. What the kernel does for a connection depends on how many there were.
        is_ok = publisher_run((struct phase){.window = 1, .messages = (uint64_t)options.warmup});
        event_loop_run(0.05);
    }
    struct totals before = totals;
    if (is_ok) {
        is_measuring = true;
        report_start(&report);
        struct phase phase = {
            .rate = options.rate,
            .window = options.window,
            .messages = (uint64_t)options.messages,
            .seconds = options.duration,
        };
        is_ok = publisher_run(phase);
        report_stop(&report);
    }
    report_fanout(&report, setup, &before, &is_ok);
    report_end(&report, is_ok, options.subscribers, count_deflated());
    return is_ok;
}

// Idle

bool run_idle(void) {
    struct report report = report_begin("idle");
    struct memory before = memory();
    report_start(&report);
    bool is_ok = subscribe_all();
    report_stop(&report);
    double setup = report.seconds, setup_cpu = report_used(&report).server;
    event_loop_run(options.settle);
    struct memory after = memory();
    // What follows the connecting, as timers that still run, is no part of being idle.
    event_loop_run(options.rest);
    struct cpu_time idle_before = cpu_time();
    event_loop_run(options.idle);
    struct cpu_time idle_after = cpu_time();
    // All leave at once; how the server takes it is over when the second is.
    for (int i = 0; i < opened; i++) connection_release(&subscribers[i]);
    event_loop_run(1);
    double leave_cpu = cpu_time().server - idle_after.server;

    double count = (double)totals.ready;
    report_real(&report, "setup_s", setup, 3);
    report_real(&report, "conn_per_s", per(count, setup), 0);
    report_real(&report, "setup_cpu_us_per_conn", per(setup_cpu * 1e6, count), 2);
    report_real(&report, "leave_cpu_us_per_conn", per(leave_cpu * 1e6, count), 2);
    report_real(&report, "rss_base_kib", before.resident, 0);
    report_real(&report, "rss_kib", after.resident, 0);
    report_real(&report, "pss_kib", after.proportional, 0);
    report_real(&report, "private_kib", after.private_pages, 0);
    double kib = 1024;
    report_real(&report, "rss_per_conn_b", per((after.resident - before.resident) * kib, count), 0);
    double proportional = after.proportional - before.proportional;
    double slab = after.slab - before.slab, sockets = after.sockets - before.sockets;
    report_real(&report, "pss_per_conn_b", per(proportional * kib, count), 0);
    report_real(&report, "slab_per_conn_b", per(slab * kib, count), 0);
    report_real(&report, "sockmem_per_conn_b", per(sockets * kib, count), 0);
    report_real(&report, "kernel_per_conn_b", per((slab + sockets) * kib, count), 0);
    report_real(&report, "whole_per_conn_b", per((proportional + slab + sockets) * kib, count), 0);
    double idle_cpu = idle_after.server - idle_before.server;
    report_real(&report, "idle_cpu_ms_per_s", per(idle_cpu * 1e3, options.idle), 3);
    report_end(&report, is_ok, options.subscribers, count_deflated());
    return is_ok;
}

// Churn

static uint64_t cycles, started, wanted;

void churn_leave(struct connection *connection) {
    totals.ready--;
    if (is_measuring) record_latency(now_ns() - connection->opened_at);
    connection->state = CLOSING;
    static const char normal[2] = {1000 >> 8, (char)(1000 & 255)};
    websocket_write(connection, CLOSE, normal, sizeof normal);
    connection_flush(connection);
    // These protocols end their own session instead, and do not answer the frame.
    bool answers = options.mode == MODE_PUSHER || options.mode == MODE_RAW;
    if (!answers) churn_closed(connection);
}

static void churn_open(struct connection *connection, uint32_t index) {
    connection_open(connection, SUBSCRIBER, index);
    connection->channel = (uint32_t)(started % (uint64_t)options.channels);
}

void churn_closed(struct connection *connection) {
    cycles++;
    connection_release(connection);
    if (started < wanted) {
        started++;
        churn_open(connection, connection->index);
    } else {
        connection->state = DEAD;
    }
}

static void churn(struct connection *connections, uint64_t count) {
    uint64_t concurrent = (uint64_t)options.concurrency;
    cycles = 0;
    wanted = count;
    started = 0;
    while (started < concurrent && started < wanted) {
        churn_open(&connections[started], (uint32_t)started);
        started++;
    }
    while (cycles + totals.dead < wanted && !out_of_time()) {
        event_loop_turn(now_ns() + 20 * MILLISECOND);
    }
}

bool run_churn(void) {
    struct report report = report_begin("churn");
    struct connection *connections = calloc((size_t)options.concurrency, sizeof *connections);
    churn(connections, (uint64_t)options.concurrency * 4);
    usleep(100 * 1000);
    is_measuring = true;
    report_start(&report);
    churn(connections, options.messages > 0 ? (uint64_t)options.messages : CHURN_MESSAGES);
    report_stop(&report);

    bool is_ok = totals.dead == 0 && cycles >= wanted;
    double count = (double)cycles;
    report_count(&report, "cycles", cycles);
    report_real(&report, "cycles_per_s", per(count, report.seconds), 0);
    report_real(&report, "srv_cpu_us_per_cycle", per(report_used(&report).server * 1e6, count), 2);
    report_end(&report, is_ok, options.concurrency, 0);
    return is_ok;
}
