/* Preloaded into a program by world.py: a calendar that can be set to another time, and names of hosts that cannot be
   looked up. What is to be so stands in a file, which the program and the test share. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { FOUND, FAILING, SILENT };

static const volatile struct {
    int64_t seconds; /* how far the calendar is ahead of the machine's */
    int64_t names;   /* what becomes of a lookup */
} *world;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("WITNESS_WORLD");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *shared = mmap(NULL, sizeof *world, PROT_READ, MAP_SHARED, file, 0);
    if (shared != MAP_FAILED) world = shared;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    if (world && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += world->seconds;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int getaddrinfo(
    const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **result
) {
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    struct in_addr address;
    if (!next) next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (world && host && inet_pton(AF_INET, host, &address) != 1) {
        while (world->names == SILENT) usleep(10000);
        if (world->names == FAILING) return EAI_AGAIN;
    }
    return next(host, service, hints, result);
}
