#include "rawfan.h"
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static SSL_CTX *context;

void secure_with(const char *certificate, const char *key) {
    context = SSL_CTX_new(TLS_server_method());
    // What Fanfare sets: little memory while nothing is written, and the cheapest cipher first.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    if (SSL_CTX_use_certificate_chain_file(context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1) {
        ERR_print_errors_fp(stderr);
        exit(1);
    }
}

void client_secure(struct client *client) {
    if (!context) return;
    client->session = SSL_new(context);
    SSL_set_fd(client->session, client->descriptor);
    SSL_set_accept_state(client->session);
}

ssize_t client_receive(struct client *client, char *bytes, size_t capacity) {
    if (!client->session) return recv(client->descriptor, bytes, capacity, MSG_DONTWAIT);
    ERR_clear_error();
    int count = SSL_read(client->session, bytes, (int)capacity);
    if (count > 0) return count;
    if (SSL_get_error(client->session, count) != SSL_ERROR_WANT_READ) return 0;
    errno = EAGAIN;
    return -1;
}

size_t client_offer(struct client *client, const char *bytes, size_t count) {
    ssize_t sent;
    if (client->session) {
        ERR_clear_error();
        sent = SSL_write(client->session, bytes, (int)count);
    } else {
        sent = send(client->descriptor, bytes, count, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return sent < 0 ? 0 : (size_t)sent;
}

void client_close(struct client *client) {
    SSL_free(client->session);
    close(client->descriptor);
}
