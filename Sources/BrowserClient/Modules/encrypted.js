// Decrypts the events of encrypted channels: NaCl's secretbox, XSalsa20 with Poly1305, which browsers do not have.

//     import { decrypt } from "/fanfare-encrypted.js";
//
//     const fanfare = new Fanfare("app-key", { decrypt, authEndpoint: "/auth" });
//
// It only decrypts: pages send nothing encrypted.

const MAC_LENGTH = 16;
const STREAM_KEY_LENGTH = 32;

/**
 * Returns what the data of an event, `{ nonce, ciphertext }` in base64, encrypts: a value of JSON, or else text.
 *
 * `sharedSecret` is the channel's key, in base64, from the answer of the backend to the authorization. Throws when the key is
 * another one, or the data was changed on its way.
 */
export function decrypt({ nonce, ciphertext }, sharedSecret) {
  const bytes = open(fromBase64(ciphertext), fromBase64(nonce), fromBase64(sharedSecret));
  if (!bytes) throw new Error("the event was not encrypted with the present key");
  const text = new TextDecoder().decode(bytes);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function open(box, nonce, key) {
  if (box.length < MAC_LENGTH || nonce.length !== 24 || key.length !== 32) return null;
  const text = box.subarray(MAC_LENGTH);
  const stream = keyStream(key, nonce, STREAM_KEY_LENGTH + text.length);
  const mac = poly1305(stream.subarray(0, STREAM_KEY_LENGTH), text);
  // Each byte is compared, so that the time tells nothing.
  if (mac.reduce((difference, byte, index) => difference | (byte ^ box[index]), 0) !== 0) return null;
  return text.map((byte, index) => byte ^ stream[STREAM_KEY_LENGTH + index]);
}

// XSalsa20: the key and the first 16 bytes of the nonce make the key of Salsa20, the other 8 its nonce.

const CONSTANTS = words(new TextEncoder().encode("expand 32-byte k"));

function keyStream(key, nonce, length) {
  const first = rounds(state(words(key), words(nonce.subarray(0, 16))));
  const subkey = [0, 5, 10, 15, 6, 7, 8, 9].map((index) => first[index]);
  const blocks = Math.ceil(length / 64);
  const stream = new DataView(new ArrayBuffer(blocks * 64));
  for (let block = 0; block < blocks; block += 1) {
    const begin = state(subkey, [...words(nonce.subarray(16)), block, 0]);
    rounds(begin).forEach((word, index) => stream.setUint32(block * 64 + index * 4, word + begin[index], true));
  }
  return new Uint8Array(stream.buffer);
}

function state(key, input) {
  const [c0, c1, c2, c3] = CONSTANTS;
  return Uint32Array.of(c0, ...key.slice(0, 4), c1, ...input, c2, ...key.slice(4), c3);
}

const COLUMNS = [[0, 4, 8, 12], [5, 9, 13, 1], [10, 14, 2, 6], [15, 3, 7, 11]];
const ROWS = [[0, 1, 2, 3], [5, 6, 7, 4], [10, 11, 8, 9], [15, 12, 13, 14]];

/** The twenty rounds of Salsa20. */
function rounds(begin) {
  const x = Uint32Array.from(begin);
  const add = (target, one, other, bits) => {
    const sum = (x[one] + x[other]) >>> 0;
    x[target] ^= (sum << bits) | (sum >>> (32 - bits));
  };
  for (let round = 0; round < 20; round += 1) {
    for (const [a, b, c, d] of round % 2 === 0 ? COLUMNS : ROWS) {
      add(b, a, d, 7);
      add(c, b, a, 9);
      add(d, c, b, 13);
      add(a, d, c, 18);
    }
  }
  return x;
}

// Poly1305, RFC 8439 §2.5.1

const PRIME = 2n ** 130n - 5n;
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn;

function poly1305(key, text) {
  const r = number(key.subarray(0, 16)) & CLAMP;
  let sum = 0n;
  for (let index = 0; index < text.length; index += 16) {
    const block = text.subarray(index, index + 16);
    sum = ((sum + number(block) + (1n << BigInt(8 * block.length))) * r) % PRIME;
  }
  const tag = sum + number(key.subarray(16));
  return Uint8Array.from({ length: MAC_LENGTH }, (_, index) => Number((tag >> BigInt(8 * index)) & 0xffn));
}

// Bytes, little-endian

function words(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Array.from({ length: bytes.length / 4 }, (_, index) => view.getUint32(index * 4, true));
}

const number = (bytes) => bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

const fromBase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
