import CommandSupport
import Digests
import FanfareAPI
import FoundationEssentials
import Glibc
import PusherProtocol

/// Encrypts and decrypts the events of encrypted channels with the app's master key, as `FanfareEncryption` does.
///
/// libsodium is loaded when it is needed: the broker must not depend on a library for one option of one command.
struct LibsodiumSealer: EventSealer {
    private typealias Initialize = @convention(c) () -> Int32
    /// The type of `crypto_secretbox_easy` and of `crypto_secretbox_open_easy`.
    private typealias Seal =
        @convention(c) (
            UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>,
            UnsafePointer<UInt8>
        ) -> Int32

    /// The names of the library, of Debian 12 and of later versions.
    private static let libraries = ["libsodium.so.23", "libsodium.so.26", "libsodium.so"]
    private static let keyLength = 32
    private static let nonceLength = 24
    private static let tagLength = 16

    private let masterKey: [UInt8]
    private let encrypt: Seal
    private let decrypt: Seal

    /// Loads libsodium.
    ///
    /// - Parameter base64: The master key, 32 bytes in base64.
    /// - Throws: `CommandError` for another key, and without the library.
    init(masterKey base64: String) throws(CommandError) {
        guard let key = Base64.decode(Array(base64.utf8).span), key.count == Self.keyLength else {
            throw CommandError(
                "The master key must be 32 bytes in base64: openssl rand -base64 32 makes one."
            )
        }
        masterKey = key
        let library = Self.libraries.lazy.compactMap { dlopen($0, RTLD_NOW) }.first
        guard let library, let initialize = dlsym(library, "sodium_init"),
            let seal = dlsym(library, "crypto_secretbox_easy"),
            let open = dlsym(library, "crypto_secretbox_open_easy")
        else {
            throw CommandError(
                "Encrypted channels need libsodium, which is not installed: apt install libsodium23."
            )
        }
        // SAFETY: the types are those of sodium/core.h and sodium/crypto_secretbox.h; the library stays loaded.
        let isReady = unsafeBitCast(initialize, to: Initialize.self)() >= 0
        guard isReady else { throw CommandError("libsodium has no source of random numbers.") }
        encrypt = unsafeBitCast(seal, to: Seal.self)
        decrypt = unsafeBitCast(open, to: Seal.self)
    }

    func sharedSecret(of channel: String) -> String { Base64.encode(key(of: channel)) }

    func seal(_ text: String, on channel: String) -> String {
        let nonce = (0..<Self.nonceLength).map { _ in UInt8.random(in: .min ... .max) }
        let text = Array(text.utf8)
        var box = [UInt8](repeating: 0, count: text.count + Self.tagLength)
        // SAFETY: nonce and key have the lengths that the routine reads, and the box room for what it writes.
        _ = encrypt(&box, text, UInt64(text.count), nonce, key(of: channel))
        var json = JSONWriter()
        json.beginObject()
        json.name("nonce")
        json.string(Base64.encode(nonce))
        json.name("ciphertext")
        json.string(Base64.encode(box))
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Decrypts the data of an event.
    ///
    /// - Parameters:
    ///   - data: The data, `{"nonce":"…","ciphertext":"…"}`.
    ///   - channel: The channel that it came on.
    /// - Returns: The text; `nil` if it is not encrypted, or with another key.
    func open(_ data: String, on channel: String) -> String? {
        guard let event = try? JSONDecoder().decode(Sealed.self, from: Data(data.utf8)),
            let nonce = Base64.decode(Array(event.nonce.utf8).span),
            let box = Base64.decode(Array(event.ciphertext.utf8).span),
            nonce.count == Self.nonceLength, box.count >= Self.tagLength
        else { return nil }
        var text = [UInt8](repeating: 0, count: box.count - Self.tagLength)
        // SAFETY: nonce and key have the lengths that the routine reads, and the text room for what it writes.
        guard decrypt(&text, box, UInt64(box.count), nonce, key(of: channel)) == 0 else {
            return nil
        }
        return String(validating: text, as: UTF8.self)
    }

    private struct Sealed: Decodable { let nonce, ciphertext: String }

    private func key(of channel: String) -> [UInt8] {
        Digest.sha256((Array(channel.utf8) + masterKey).span)
    }
}
