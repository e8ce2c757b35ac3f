// rawfan: the physical limit. A server that does nothing but hand pre-built frames to the kernel.
//
//     rawfan PORT send|coalesce [THREADS [CERTIFICATE KEY]]
//
// `send` makes one system call for each message and subscriber; `coalesce` collects the messages
// of a turn of the loop, and makes one for each subscriber. With a certificate and its key, PEM
// files both, every connection is encrypted by OpenSSL. It understands just enough of the
// Pusher protocol for the load generator: it checks nothing, and is a yardstick, not a broker.
#include "rawfan.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_PER_TURN = 512, ACCEPTS_PER_TURN = 64, READ_SIZE = 1 << 18 };

struct thread *threads;
int thread_count = 1;
bool coalesces;
static uint16_t port;

static int listen_on_loopback(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // Each thread has a listener of its own; the kernel shares the connections out.
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (void *)&address, sizeof address) || listen(listener, 4096)) {
        perror("rawfan: listen");
        exit(1);
    }
    return listener;
}

static void watch(const struct thread *thread, int descriptor, uint32_t events, void *what) {
    struct epoll_event event = {.events = events, .data.ptr = what};
    epoll_ctl(thread->epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void accept_clients(const struct thread *thread, int listener) {
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK), on = 1;
        if (descriptor < 0) return;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct client *client = calloc(1, sizeof *client);
        client->descriptor = descriptor;
        client_secure(client);
        // Registered once for all events; edges need no second call per write.
        watch(thread, descriptor, EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, client);
    }
}

// Reads all there is; false when the connection is over.
static bool read_client(struct thread *thread, struct client *client, uint32_t events) {
    static __thread char bytes[READ_SIZE];
    for (;;) {
        ssize_t count = client_receive(client, bytes, sizeof bytes);
        if (count < 0) return errno == EAGAIN;
        if (count == 0 || !client_received(thread, client, bytes, (size_t)count)) return false;
        // A short read has emptied the socket, unless the end of the stream is still to come.
        bool is_short = !client->session && (size_t)count < sizeof bytes;
        if (is_short && !(events & EPOLLRDHUP)) return true;
    }
}

static void drop(struct client *client) {
    client_leave(client);
    client_close(client);
    buffer_free(&client->incomplete);
    buffer_free(&client->backlog);
    free(client);
}

static void serve(struct thread *thread, struct client *client, uint32_t events) {
    if (events & EPOLLOUT) client_drain(client);
    if (events & ~(uint32_t)EPOLLOUT && !read_client(thread, client, events)) drop(client);
}

static void *run(void *argument) {
    struct thread *thread = argument;
    int listener = listen_on_loopback();
    thread->epoll = epoll_create1(0);
    watch(thread, listener, EPOLLIN, &listener);
    watch(thread, thread->wakeup, EPOLLIN, &thread->wakeup);
    struct epoll_event events[EVENTS_PER_TURN];
    for (;;) {
        int count = epoll_wait(thread->epoll, events, EVENTS_PER_TURN, -1);
        for (int i = 0; i < count; i++) {
            void *what = events[i].data.ptr;
            if (what == &listener) {
                accept_clients(thread, listener);
            } else if (what == &thread->wakeup) {
                read_inbox(thread);
            } else {
                serve(thread, what, events[i].events);
            }
        }
        end_turn(thread);
    }
    return NULL;
}

int main(int argc, char **argv) {
    bool is_mode = argc > 2 && (!strcmp(argv[2], "send") || !strcmp(argv[2], "coalesce"));
    if (!is_mode) {
        fputs("usage: rawfan PORT send|coalesce [THREADS [CERTIFICATE KEY]]\n", stderr);
        return 2;
    }
    port = (uint16_t)atoi(argv[1]);
    coalesces = strcmp(argv[2], "coalesce") == 0;
    if (argc > 3) thread_count = atoi(argv[3]);
    if (argc > 5) secure_with(argv[4], argv[5]);

    signal(SIGPIPE, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);

    threads = calloc((size_t)thread_count, sizeof *threads);
    for (int i = 0; i < thread_count; i++) {
        pthread_mutex_init(&threads[i].lock, NULL);
        threads[i].inbox_end = &threads[i].inbox;
        threads[i].wakeup = eventfd(0, EFD_NONBLOCK);
    }
    for (int i = 1; i < thread_count; i++) {
        pthread_t handle;
        pthread_create(&handle, NULL, run, &threads[i]);
    }
    run(&threads[0]);
}
