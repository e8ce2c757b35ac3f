#include "accounting.h"
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROCESSES_MAX = 256 };
static int processes[PROCESSES_MAX], process_count;

// The fields of /proc/PID/stat from the third on; the second may contain anything.
static bool read_stat(int process, char *output, size_t capacity) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    char text[1024];
    size_t count = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[count] = 0;
    char *rest = strrchr(text, ')');
    snprintf(output, capacity, "%s", rest ? rest + 2 : "");
    return rest != NULL;
}

static int parent(int process) {
    char stat[1024];
    int number = 0;
    if (read_stat(process, stat, sizeof stat)) sscanf(stat, "%*c %d", &number);
    return number;
}

static void add_with_children(int process) {
    if (process_count == PROCESSES_MAX) return;
    processes[process_count++] = process;
    DIR *folder = opendir("/proc");
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int other = atoi(entry->d_name);
        if (other > 0 && parent(other) == process) add_with_children(other);
    }
    closedir(folder);
}

int accounting_start(const char *list) {
    while (list && *list) {
        add_with_children(atoi(list));
        list = strchr(list, ',');
        if (list) list++;
    }
    return process_count;
}

// CPU seconds that the scheduler has counted for a process, to the nanosecond.
static double scheduled(int process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", process);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    double seconds = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        char name[512];
        snprintf(name, sizeof name, "/proc/%d/task/%s/schedstat", process, entry->d_name);
        FILE *file = fopen(name, "r");
        unsigned long long nanoseconds = 0;
        if (file && fscanf(file, "%llu", &nanoseconds) == 1) seconds += (double)nanoseconds / 1e9;
        if (file) fclose(file);
    }
    closedir(folder);
    return seconds;
}

struct cpu_time cpu_time(void) {
    struct cpu_time result = {0};
    double ticks = (double)sysconf(_SC_CLK_TCK);
    for (int i = 0; i < process_count; i++) {
        char stat[1024];
        unsigned long user = 0, system = 0;
        if (read_stat(processes[i], stat, sizeof stat)) {
            sscanf(stat, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
        }
        result.server_user += (double)user / ticks;
        result.server_system += (double)system / ticks;
        result.server += scheduled(processes[i]);
    }

    // user, nice, system, idle, iowait, irq, softirq, steal
    unsigned long long of[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (file) {
        int count = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &of[0], &of[1],
                           &of[2], &of[3], &of[4], &of[5], &of[6], &of[7]);
        if (count == 8) {
            result.machine = (double)(of[0] + of[1] + of[2] + of[5] + of[6]) / ticks;
            result.stolen = (double)of[7] / ticks;
        }
        fclose(file);
    }

    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    result.own = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                 (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
    return result;
}

// The number behind each line's `key`, added up.
static double sum_lines(const char *path, const char *key) {
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    char line[256];
    double sum = 0;
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (value && strncmp(line, key, strlen(key)) == 0) sum += atof(value + 1);
    }
    fclose(file);
    return sum;
}

// The pages of /proc/net/sockstat's line "TCP: inuse … mem N", in KiB.
static double socket_memory(void) {
    FILE *file = fopen("/proc/net/sockstat", "r");
    if (!file) return 0;
    char line[256];
    double pages = 0;
    while (fgets(line, sizeof line, file)) {
        char *value = strncmp(line, "TCP: ", 5) == 0 ? strstr(line, "mem ") : NULL;
        if (value) pages = atof(value + 4);
    }
    fclose(file);
    return pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

struct memory memory(void) {
    struct memory result = {
        .slab = sum_lines("/proc/meminfo", "Slab:"),
        .sockets = socket_memory(),
    };
    for (int i = 0; i < process_count; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/status", processes[i]);
        result.resident += sum_lines(path, "VmRSS:");
        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", processes[i]);
        result.proportional += sum_lines(path, "Pss:");
        result.private_pages += sum_lines(path, "Private_");
    }
    return result;
}
