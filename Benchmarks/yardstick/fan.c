#include "rawfan.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

// Clients

// Sends at once; only what the socket does not take is copied.
void client_send(struct client *client, const char *bytes, size_t count) {
    size_t sent = 0;
    if (buffer_count(&client->backlog) == 0) sent = client_offer(client, bytes, count);
    if (sent < count) buffer_append(&client->backlog, bytes + sent, count - sent);
}

void client_drain(struct client *client) {
    struct buffer *backlog = &client->backlog;
    while (buffer_count(backlog) > 0) {
        size_t sent = client_offer(client, buffer_bytes(backlog), buffer_count(backlog));
        if (sent == 0) return;
        buffer_consume(backlog, sent);
    }
    buffer_free(backlog);
}

// Channels

static struct channel **find(struct thread *thread, const char *name, int length) {
    uint32_t hash = 2166136261u; // FNV-1a
    for (int i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    for (uint32_t slot = hash % CHANNEL_SLOTS;; slot = (slot + 1) % CHANNEL_SLOTS) {
        struct channel *channel = thread->channels[slot];
        if (!channel) return &thread->channels[slot];
        if (strncmp(channel->name, name, (size_t)length) == 0 && !channel->name[length]) {
            return &thread->channels[slot];
        }
    }
}

void client_subscribe(struct thread *thread, struct client *client, const char *name, int length) {
    struct channel **slot = find(thread, name, length);
    if (!*slot) {
        *slot = calloc(1, sizeof **slot);
        snprintf((*slot)->name, sizeof(*slot)->name, "%.*s", length, name);
    }
    struct channel *channel = *slot;
    if (channel->count == channel->capacity) {
        channel->capacity = channel->capacity * 2 + 4;
        channel->clients = realloc(channel->clients, channel->capacity * sizeof *channel->clients);
    }
    client->channel = channel;
    client->place = channel->count;
    channel->clients[channel->count++] = client;
}

// The last client takes the place of the one that leaves.
void client_leave(struct client *client) {
    struct channel *channel = client->channel;
    if (!channel) return;
    struct client *last = channel->clients[--channel->count];
    channel->clients[client->place] = last;
    last->place = client->place;
}

static void fan_out(const struct channel *channel, const char *bytes, size_t count) {
    for (uint32_t i = 0; i < channel->count; i++)
        client_send(channel->clients[i], bytes, count);
}

static void deliver(struct thread *thread, const char *name, int length, const char *frame,
                    uint32_t count) {
    struct channel *channel = *find(thread, name, length);
    if (!channel || channel->count == 0) return;
    if (!coalesces) {
        fan_out(channel, frame, count);
        return;
    }
    if (buffer_count(&channel->pending) == 0) {
        channel->next_pending = thread->first_pending;
        thread->first_pending = channel;
    }
    buffer_append(&channel->pending, frame, count);
}

void end_turn(struct thread *thread) {
    while (thread->first_pending) {
        struct channel *channel = thread->first_pending;
        thread->first_pending = channel->next_pending;
        size_t count = buffer_count(&channel->pending);
        fan_out(channel, buffer_bytes(&channel->pending), count);
        buffer_consume(&channel->pending, count);
    }
}

// Threads

static void post(struct thread *thread, const char *name, int length, const char *frame,
                 uint32_t count) {
    struct parcel *parcel = malloc(sizeof *parcel + count);
    parcel->next = NULL;
    parcel->count = count;
    snprintf(parcel->channel, sizeof parcel->channel, "%.*s", length, name);
    memcpy(parcel->frame, frame, count);
    pthread_mutex_lock(&thread->lock);
    bool was_empty = !thread->inbox;
    *thread->inbox_end = parcel;
    thread->inbox_end = &parcel->next;
    pthread_mutex_unlock(&thread->lock);
    if (was_empty) eventfd_write(thread->wakeup, 1);
}

void publish(struct thread *thread, const char *name, int length, const char *frame,
             uint32_t count) {
    for (int i = 0; i < thread_count; i++) {
        if (&threads[i] != thread) post(&threads[i], name, length, frame, count);
    }
    deliver(thread, name, length, frame, count);
}

void read_inbox(struct thread *thread) {
    eventfd_t value;
    eventfd_read(thread->wakeup, &value);
    pthread_mutex_lock(&thread->lock);
    struct parcel *parcel = thread->inbox;
    thread->inbox = NULL;
    thread->inbox_end = &thread->inbox;
    pthread_mutex_unlock(&thread->lock);
    while (parcel) {
        struct parcel *next = parcel->next;
        deliver(thread, parcel->channel, (int)strlen(parcel->channel), parcel->frame,
                parcel->count);
        free(parcel);
        parcel = next;
    }
}
