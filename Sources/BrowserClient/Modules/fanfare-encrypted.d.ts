// The types of fanfare-encrypted.js: `new Fanfare(key, { decrypt })` decrypts the events of encrypted channels.

/**
 * Returns what the data of an event encrypts: a value of JSON, or else text. Throws when it was encrypted with another key.
 *
 * `sharedSecret` is the channel's key, in base64, from the backend's answer to the authorization.
 */
export function decrypt(data: { nonce: string; ciphertext: string }, sharedSecret: string): any;
