// The parts of the limit server.
#pragma once
#include "buffer.h"
#include <openssl/types.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct channel;

struct client {
    int descriptor;
    SSL *session; // NULL without TLS
    bool is_websocket;
    struct channel *channel;
    uint32_t place;           // among the channel's clients
    struct buffer incomplete; // received
    struct buffer backlog;    // not taken by the socket
};

struct channel {
    char name[64];
    struct client **clients;
    uint32_t count, capacity;
    struct buffer pending; // frames of this turn
    struct channel *next_pending;
};

enum { CHANNEL_SLOTS = 65536 };

// A frame on its way to another thread.
struct parcel {
    struct parcel *next;
    char channel[64];
    uint32_t count;
    char frame[];
};

struct thread {
    int epoll, wakeup;
    struct channel *channels[CHANNEL_SLOTS]; // open addressing
    struct channel *first_pending;
    pthread_mutex_t lock; // of the inbox
    struct parcel *inbox, **inbox_end;
};

extern struct thread *threads;
extern int thread_count;
// Whether the frames of a turn leave together, or each by itself.
extern bool coalesces;

// secure.c: TLS, as OpenSSL does it, in front of the socket
// Encrypts all connections from now on.
void secure_with(const char *certificate, const char *key);
void client_secure(struct client *client);
// As recv(2), and 0 for every end.
ssize_t client_receive(struct client *client, char *bytes, size_t capacity);
// What was taken; 0 if the socket is full or the connection is lost.
size_t client_offer(struct client *client, const char *bytes, size_t count);
void client_close(struct client *client);

// fan.c: who gets what
void client_send(struct client *client, const char *bytes, size_t count);
void client_drain(struct client *client);
void client_subscribe(struct thread *thread, struct client *client, const char *name, int count);
void client_leave(struct client *client);
// Sends to this thread's subscribers, and posts to the other threads.
void publish(struct thread *thread, const char *name, int length, const char *frame,
             uint32_t count);
void read_inbox(struct thread *thread);
void end_turn(struct thread *thread);

// speech.c: as much of HTTP, RFC 6455 and the Pusher protocol as the load generator needs.
// Takes what was read; false when the connection is to be closed.
bool client_received(struct thread *thread, struct client *client, char *bytes, size_t count);
