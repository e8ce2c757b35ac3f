#include "event_loop.h"
#include "delivery.h"
#include "options.h"
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVENTS_PER_TURN = 512, EVENTS_BETWEEN_CALLS = 32 };

void (*between_events)(void);

static int epoll;
static uint64_t end;

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SECOND + (uint64_t)time.tv_nsec;
}

void event_loop_start(void) {
    epoll = epoll_create1(EPOLL_CLOEXEC);
    end = now_ns() + (uint64_t)(options.seconds_max * SECOND);
}

void event_loop_add(int descriptor, struct connection *connection) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = connection};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)) {
        give_up("epoll_ctl: %s", strerror(errno));
    }
}

void event_loop_change(int descriptor, struct connection *connection, bool awaits_writable) {
    struct epoll_event event = {
        .events = EPOLLIN | (awaits_writable ? EPOLLOUT : 0),
        .data.ptr = connection,
    };
    epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}

bool out_of_time(void) {
    return now_ns() > end;
}

void event_loop_turn(uint64_t deadline) {
    static struct epoll_event events[EVENTS_PER_TURN];
    uint64_t now = now_ns();
    struct timespec pause = {0};
    if (deadline > now) {
        pause.tv_sec = (time_t)((deadline - now) / SECOND);
        pause.tv_nsec = (long)((deadline - now) % SECOND);
    }
    int count = epoll_pwait2(epoll, events, EVENTS_PER_TURN, &pause, NULL);
    if (count < 0 && errno != EINTR) give_up("epoll_pwait2: %s", strerror(errno));
    for (int i = 0; i < count; i++) {
        connection_handle(events[i].data.ptr, events[i].events);
        if (between_events && i % EVENTS_BETWEEN_CALLS == EVENTS_BETWEEN_CALLS - 1) {
            between_events();
        }
    }
    if (out_of_time()) note_error("the time of --max-seconds is up");
}

void event_loop_run(double seconds) {
    uint64_t deadline = now_ns() + (uint64_t)(seconds * SECOND);
    while (now_ns() < deadline)
        event_loop_turn(deadline);
}
