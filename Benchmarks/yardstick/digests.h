// The digests of the Pusher protocol, by OpenSSL; algorithms are looked up once, not per message.
#pragma once
#include <stddef.h>

// Room for a digest in hexadecimal: SHA-256 is the longest.
enum { HEX_LENGTH_MAX = 2 * 32 + 1 };

// Prepares HMAC-SHA256 with an app's secret.
void hmac_set_key(const char *key);
void hmac_hex(const char *message, size_t count, char output[HEX_LENGTH_MAX]);
void md5_hex(const char *message, size_t count, char output[HEX_LENGTH_MAX]);
// Twenty bytes; safe to call on several threads.
void sha1(const void *message, size_t count, unsigned char output[20]);
