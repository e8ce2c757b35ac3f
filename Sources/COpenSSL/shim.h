#ifndef FANFARE_COPENSSL_H
#define FANFARE_COPENSSL_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

/* OpenSSL's macros, which Swift cannot import. */

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

/* OpenSSL's low-level digests, whose contexts are plain values; deprecated, but in every OpenSSL 3.
   EVP copies contexts on the heap, which takes longer than hashing a short message. */

static inline void shim_MD5(const void *bytes, size_t count, unsigned char *digest) {
    MD5_CTX context;
    MD5_Init(&context);
    MD5_Update(&context, bytes, count);
    MD5_Final(digest, &context);
}

static inline void shim_SHA1(const void *bytes, size_t count, unsigned char *digest) {
    SHA_CTX context;
    SHA1_Init(&context);
    SHA1_Update(&context, bytes, count);
    SHA1_Final(digest, &context);
}

static inline void shim_SHA256(const void *bytes, size_t count, unsigned char *digest) {
    SHA256_CTX context;
    SHA256_Init(&context);
    SHA256_Update(&context, bytes, count);
    SHA256_Final(digest, &context);
}

/* An HMAC-SHA256 key whose two padded blocks have been hashed. */
typedef struct {
    SHA256_CTX inner, outer;
} shim_HMAC_SHA256_key;

static inline void shim_HMAC_SHA256_prepare(
    shim_HMAC_SHA256_key *key, const unsigned char *inner_block, const unsigned char *outer_block
) {
    SHA256_Init(&key->inner);
    SHA256_Update(&key->inner, inner_block, SHA256_CBLOCK);
    SHA256_Init(&key->outer);
    SHA256_Update(&key->outer, outer_block, SHA256_CBLOCK);
}

/* Only the code remains on the stack: SHA256_Final zeroes its block. */
static inline void shim_HMAC_SHA256(
    const shim_HMAC_SHA256_key *key, const void *bytes, size_t count, unsigned char *code
) {
    SHA256_CTX context = key->inner;
    SHA256_Update(&context, bytes, count);
    SHA256_Final(code, &context);
    context = key->outer;
    SHA256_Update(&context, code, SHA256_DIGEST_LENGTH);
    SHA256_Final(code, &context);
}

#endif
