#ifndef FANFARE_COPENSSL_H
#define FANFARE_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* What OpenSSL offers as macros, which Swift cannot see. */

static const uint64_t shim_SSL_OP_NO_RENEGOTIATION = SSL_OP_NO_RENEGOTIATION;
static const uint64_t shim_SSL_OP_NO_COMPRESSION = SSL_OP_NO_COMPRESSION;
static const uint64_t shim_SSL_OP_CIPHER_SERVER_PREFERENCE = SSL_OP_CIPHER_SERVER_PREFERENCE;
static const uint64_t shim_SSL_OP_PRIORITIZE_CHACHA = SSL_OP_PRIORITIZE_CHACHA;

static inline long shim_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}

static inline int shim_SSL_CTX_set_proto_versions(SSL_CTX *context, int min, int max) {
    return SSL_CTX_set_min_proto_version(context, min)
        && SSL_CTX_set_max_proto_version(context, max);
}

static inline long shim_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline void shim_SSL_CTX_set_read_ahead(SSL_CTX *context, int yes) {
    SSL_CTX_set_read_ahead(context, yes);
}

static inline int shim_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}

static inline void shim_SSL_CTX_set_servername(
    SSL_CTX *context, int (*callback)(SSL *, int *, void *), void *argument
) {
    SSL_CTX_set_tlsext_servername_callback(context, callback);
    SSL_CTX_set_tlsext_servername_arg(context, argument);
}

static inline int shim_SSL_set_host_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}

static inline void shim_BIO_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }
static inline void shim_BIO_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void shim_BIO_retry_write(BIO *bio) { BIO_set_retry_write(bio); }

static inline EVP_PKEY *shim_EVP_EC_gen(const char *curve) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}

static inline long shim_BIO_get_mem_data(BIO *bio, char **data) {
    return BIO_get_mem_data(bio, data);
}

#endif
