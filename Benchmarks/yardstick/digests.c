#include "digests.h"
#include <openssl/evp.h>
#include <string.h>

enum { SHA256_BLOCK = 64 };

// HMAC is two hashes whose first block is the key: these have digested it already.
static EVP_MD_CTX *inner, *outer;

static void to_hex(const unsigned char *bytes, size_t count, char *output) {
    for (size_t i = 0; i < count; i++) {
        *output++ = "0123456789abcdef"[bytes[i] >> 4];
        *output++ = "0123456789abcdef"[bytes[i] & 15];
    }
    *output = 0;
}

static EVP_MD_CTX *keyed(const unsigned char key[SHA256_BLOCK], unsigned char pad) {
    unsigned char block[SHA256_BLOCK];
    for (int i = 0; i < SHA256_BLOCK; i++)
        block[i] = key[i] ^ pad;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    EVP_DigestUpdate(context, block, sizeof block);
    return context;
}

void hmac_set_key(const char *key) {
    unsigned char block[SHA256_BLOCK] = {0};
    size_t count = strlen(key);
    if (count > SHA256_BLOCK) {
        EVP_Digest(key, count, block, NULL, EVP_sha256(), NULL);
    } else {
        memcpy(block, key, count);
    }
    inner = keyed(block, 0x36);
    outer = keyed(block, 0x5c);
}

void hmac_hex(const char *message, size_t count, char output[HEX_LENGTH_MAX]) {
    static EVP_MD_CTX *context;
    if (!context) context = EVP_MD_CTX_new();
    unsigned char digest[32];
    EVP_MD_CTX_copy_ex(context, inner);
    EVP_DigestUpdate(context, message, count);
    EVP_DigestFinal_ex(context, digest, NULL);
    EVP_MD_CTX_copy_ex(context, outer);
    EVP_DigestUpdate(context, digest, sizeof digest);
    EVP_DigestFinal_ex(context, digest, NULL);
    to_hex(digest, sizeof digest, output);
}

void md5_hex(const char *message, size_t count, char output[HEX_LENGTH_MAX]) {
    static EVP_MD *algorithm;
    static EVP_MD_CTX *context;
    if (!context) {
        algorithm = EVP_MD_fetch(NULL, "MD5", NULL);
        context = EVP_MD_CTX_new();
    }
    unsigned char digest[16];
    EVP_DigestInit_ex(context, algorithm, NULL);
    EVP_DigestUpdate(context, message, count);
    EVP_DigestFinal_ex(context, digest, NULL);
    to_hex(digest, sizeof digest, output);
}

void sha1(const void *message, size_t count, unsigned char output[20]) {
    static __thread EVP_MD *algorithm;
    static __thread EVP_MD_CTX *context;
    if (!context) {
        algorithm = EVP_MD_fetch(NULL, "SHA1", NULL);
        context = EVP_MD_CTX_new();
    }
    EVP_DigestInit_ex(context, algorithm, NULL);
    EVP_DigestUpdate(context, message, count);
    EVP_DigestFinal_ex(context, output, NULL);
}
