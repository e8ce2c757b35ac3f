#include "connection.h"
#include "delivery.h"
#include "event_loop.h"
#include "options.h"
#include "scenarios.h"
#include "websocket.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

// One address has too few ports for many connections, or for many that come and go.
enum { CONNECTIONS_PER_ADDRESS = 4000, ADDRESSES_OF_CHURN = 32 };

static struct sockaddr_in local_address(uint32_t index) {
    uint32_t number = options.scenario == SCENARIO_CHURN ? index % ADDRESSES_OF_CHURN
                                                         : index / CONNECTIONS_PER_ADDRESS;
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(0x7f000002 + number);
    return address;
}

void connection_open(struct connection *connection, enum connection_kind kind, uint32_t index) {
    *connection = (struct connection){
        .kind = kind,
        .index = index,
        .opened_at = now_ns(),
        .awaits_writable = true,
        .state = CONNECTING,
    };
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) give_up("socket: %s", strerror(errno));
    connection->descriptor = descriptor;

    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(descriptor, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    struct sockaddr_in local = local_address(index);
    if (bind(descriptor, (void *)&local, sizeof local)) give_up("bind: %s", strerror(errno));
    struct sockaddr_in *server = kind == SUBSCRIBER ? &options.address : &options.publish_address;
    if (connect(descriptor, (void *)server, sizeof *server) < 0 && errno != EINPROGRESS) {
        give_up("connect: %s", strerror(errno));
    }
    event_loop_add(descriptor, connection);
}

void connection_release(struct connection *connection) {
    if (connection->descriptor >= 0) close(connection->descriptor);
    connection->descriptor = -1;
    buffer_free(&connection->received);
    buffer_free(&connection->output);
    SSL_free(connection->ssl);
    connection->ssl = NULL;
    if (connection->inflater) inflateEnd(connection->inflater);
    free(connection->inflater);
    connection->inflater = NULL;
}

void connection_ready(struct connection *connection) {
    connection->state = READY;
    if (connection->kind == SUBSCRIBER) totals.ready++;
}

void connection_fail(struct connection *connection, const char *reason) {
    if (connection->state == DEAD) return;
    note_error("connection %u, kind %d, state %d: %s", connection->index, connection->kind,
               connection->state, reason);
    if (connection->state == READY && connection->kind == SUBSCRIBER) totals.ready--;
    connection->state = DEAD;
    totals.dead++;
    connection_release(connection);
}

static void await_writable(struct connection *connection, bool awaits) {
    if (connection->awaits_writable == awaits) return;
    connection->awaits_writable = awaits;
    event_loop_change(connection->descriptor, connection, awaits);
}

void connection_write(struct connection *connection, const void *bytes, size_t count) {
    buffer_append(&connection->output, bytes, count);
}

// Bytes sent; 0 when the socket is full, negative when it failed.
static ssize_t send_some(struct connection *connection) {
    const char *bytes = buffer_bytes(&connection->output);
    size_t count = buffer_count(&connection->output);
    if (connection->ssl) {
        ERR_clear_error();
        int sent = SSL_write(connection->ssl, bytes, (int)count);
        if (sent > 0) return sent;
        int error = SSL_get_error(connection->ssl, sent);
        return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ ? 0 : -1;
    }
    ssize_t sent = send(connection->descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
}

void connection_flush(struct connection *connection) {
    while (buffer_count(&connection->output) > 0) {
        ssize_t sent = send_some(connection);
        if (sent == 0) {
            await_writable(connection, true);
            return;
        }
        if (sent < 0) {
            connection_fail(connection, "cannot send");
            return;
        }
        buffer_consume(&connection->output, (size_t)sent);
    }
    // Ten thousand subscribers have no use for ten thousand buffers.
    if (connection->kind == SUBSCRIBER && connection->state >= READY) {
        buffer_free(&connection->output);
    }
    await_writable(connection, false);
}

// The transport stands: a WebSocket begins, or HTTP may.
static void begin(struct connection *connection) {
    await_writable(connection, false);
    if (connection->kind == HTTP_PUBLISHER) {
        connection_ready(connection);
    } else {
        websocket_request(connection);
    }
}

static SSL *new_session(int descriptor) {
    static SSL_CTX *context;
    if (!context) {
        context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    }
    SSL *session = SSL_new(context);
    SSL_set_fd(session, descriptor);
    SSL_set_connect_state(session);
    return session;
}

static void secure(struct connection *connection) {
    ERR_clear_error();
    int result = SSL_do_handshake(connection->ssl);
    if (result > 0) {
        begin(connection);
        return;
    }
    switch (SSL_get_error(connection->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        await_writable(connection, false);
        break;
    case SSL_ERROR_WANT_WRITE:
        await_writable(connection, true);
        break;
    default:
        connection_fail(connection, "the TLS handshake failed");
    }
}

static void connected(struct connection *connection) {
    int error = 0;
    socklen_t count = sizeof error;
    getsockopt(connection->descriptor, SOL_SOCKET, SO_ERROR, &error, &count);
    if (error) {
        connection_fail(connection, strerror(error));
    } else if (options.uses_tls) {
        connection->ssl = new_session(connection->descriptor);
        connection->state = SECURING;
        secure(connection);
    } else {
        begin(connection);
    }
}

// Bytes received; 0 when the server has closed, negative when nothing is there yet.
static ssize_t receive_some(struct connection *connection, char *bytes, size_t capacity) {
    if (connection->ssl) {
        ERR_clear_error();
        int count = SSL_read(connection->ssl, bytes, (int)capacity);
        if (count > 0) return count;
        int error = SSL_get_error(connection->ssl, count);
        return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? -1 : 0;
    }
    ssize_t count = recv(connection->descriptor, bytes, capacity, MSG_DONTWAIT);
    return count < 0 && errno != EAGAIN ? 0 : count;
}

static void read_all(struct connection *connection) {
    static char bytes[1 << 18];
    for (;;) {
        ssize_t count = receive_some(connection, bytes, sizeof bytes);
        if (count < 0) return;
        if (count == 0 && connection->state == CLOSING) {
            churn_closed(connection);
            return;
        }
        if (count == 0) {
            connection_fail(connection, "closed by the server");
            return;
        }
        totals.bytes_read += (uint64_t)count;
        totals.reads++;
        websocket_received(connection, bytes, (size_t)count, now_ns());
        if (connection_has_ended(connection)) return;
        // A short read has emptied the socket, but OpenSSL may still hold records.
        if (!connection->ssl && (size_t)count < sizeof bytes) return;
    }
}

void connection_handle(struct connection *connection, uint32_t events) {
    if (connection->descriptor < 0) return;
    if (connection->state == CONNECTING) {
        if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) connected(connection);
        return;
    }
    if (connection->state == SECURING) {
        secure(connection);
        return;
    }
    if (events & EPOLLOUT) connection_flush(connection);
    if (connection->state == DEAD) return;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_all(connection);
}
