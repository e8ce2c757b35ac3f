#include "report.h"
#include "delivery.h"
#include "event_loop.h"
#include "options.h"
#include <stdio.h>
#include <string.h>

static int processes;

struct report report_begin(const char *scenario) {
    processes = accounting_start(options.processes);
    struct report report = {.scenario = scenario};
    report.before = report.after = cpu_time();
    return report;
}

void report_start(struct report *report) {
    report->before = cpu_time();
    report->started_at = now_ns();
}

void report_stop(struct report *report) {
    report->seconds = (double)(now_ns() - report->started_at) / SECOND;
    report->after = cpu_time();
}

struct cpu_time report_used(const struct report *report) {
    const struct cpu_time *before = &report->before, *after = &report->after;
    return (struct cpu_time){
        .server = after->server - before->server,
        .server_user = after->server_user - before->server_user,
        .server_system = after->server_system - before->server_system,
        .own = after->own - before->own,
        .machine = after->machine - before->machine,
        .stolen = after->stolen - before->stolen,
    };
}

static void append(struct report *report, const char *field) {
    size_t used = strlen(report->fields);
    snprintf(report->fields + used, sizeof report->fields - used, "%s", field);
}

void report_count(struct report *report, const char *name, uint64_t value) {
    char field[96];
    snprintf(field, sizeof field, "\"%s\":%lu,", name, value);
    append(report, field);
}

void report_real(struct report *report, const char *name, double value, int decimals) {
    char field[96];
    snprintf(field, sizeof field, "\"%s\":%.*f,", name, decimals, value);
    append(report, field);
}

void report_end(const struct report *report, bool is_ok, int connections, int deflated) {
    struct cpu_time used = report_used(report);
    printf("{\"label\":\"%s\",\"scenario\":\"%s\",\"ok\":%s,", options.label, report->scenario,
           is_ok ? "true" : "false");
    printf("\"mode\":%d,\"tls\":%d,\"deflate\":%d,\"deflate_negotiated\":%d,", options.mode,
           options.uses_tls, options.deflate, deflated);
    printf("\"n\":%d,\"channels\":%d,\"subscriptions\":%d,\"size\":%d,", connections,
           options.channels, options.subscriptions, options.size);
    printf("\"rate\":%.1f,\"window\":%ld,", options.rate, options.rate > 0 ? 0 : options.window);
    printf("%s\"dur_s\":%.3f,", report->fields, report->seconds);
    printf(
        "\"lat_us\":{\"p50\":%.0f,\"p90\":%.0f,\"p99\":%.0f,\"p999\":%.0f,\"max\":%.0f,"
        "\"n\":%lu},",
        latency(0.5), latency(0.9), latency(0.99), latency(0.999), latency_max(), latency_count());
    printf("\"srv_cpu_s\":%.3f,\"srv_user_s\":%.2f,\"srv_sys_s\":%.2f,\"srv_procs\":%d,",
           used.server, used.server_user, used.server_system, processes);
    printf("\"gen_cpu_s\":%.3f,\"other_cpu_s\":%.2f,\"steal_s\":%.2f,", used.own,
           used.machine - used.server - used.own, used.stolen);
    printf("\"ready\":%lu,\"dead\":%lu,\"errors\":%lu,\"first_error\":\"%s\"}\n", totals.ready,
           totals.dead, totals.errors, totals.first_error);
}
