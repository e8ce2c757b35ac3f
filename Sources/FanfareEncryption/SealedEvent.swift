import Primitives
import Digests
public import FanfareClient
import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The data of an event on an encrypted channel: `{"nonce":"…","ciphertext":"…"}`, both base64.
struct SealedEvent {
    let nonce: [UInt8]
    /// The tag and the ciphertext.
    let box: [UInt8]

    /// Encrypts a text.
    init(_ text: String, key: ChannelKey, nonce: [UInt8] = SecretBox.random(SecretBox.nonceLength))
    {
        self.nonce = nonce
        box = SecretBox.seal(Array(text.utf8), nonce: nonce, key: key)
    }

    private struct Members: Decodable {
        var nonce: String
        var ciphertext: String
    }

    /// Parses the data of an event.
    init(_ json: String) throws(DecryptionFailure) {
        guard let members = try? JSONDecoder().decode(Members.self, from: Data(json.utf8)) else {
            throw .malformed("expected an object with the strings nonce and ciphertext")
        }
        guard let nonce = Base64.decode(Array(members.nonce.utf8).span),
            let box = Base64.decode(Array(members.ciphertext.utf8).span)
        else { throw .malformed("nonce or ciphertext is not base64") }
        guard nonce.count == SecretBox.nonceLength else {
            throw .malformed("a nonce of \(nonce.count) bytes instead of \(SecretBox.nonceLength)")
        }
        guard box.count >= SecretBox.tagLength else {
            throw .malformed(
                "a ciphertext of \(box.count) bytes, shorter than its tag of \(SecretBox.tagLength)"
            )
        }
        (self.nonce, self.box) = (nonce, box)
    }

    var json: String {
        var json = JSONWriter()
        json.beginObject()
        json.name("nonce")
        json.string(Base64.encode(nonce))
        json.name("ciphertext")
        json.string(Base64.encode(box))
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }

    /// Decrypts the event.
    func open(with key: ChannelKey) throws(DecryptionFailure) -> String {
        guard let text = SecretBox.open(box, nonce: nonce, key: key) else { throw .wrongKey }
        guard let string = String(utf8: text) else {
            throw .malformed("the decrypted data is not UTF-8")
        }
        return string
    }
}

/// Decrypts the events of encrypted channels for a client.
///
/// ```swift
/// options.decrypter = SecretBoxDecrypter()
/// ```
public struct SecretBoxDecrypter: EventDecrypter {
    /// Creates a decrypter.
    ///
    /// The decrypter stores no keys: each channel's key comes with its authorisation.
    public init() {}

    /// Decrypts the data of one event.
    public func open(_ data: String, sharedSecret: String) throws(DecryptionFailure) -> String {
        let event = try SealedEvent(data)
        let key: ChannelKey
        do throws(KeyError) {
            key = try ChannelKey(base64: sharedSecret)
        } catch {
            throw .invalidKey("\(error)")
        }
        return try event.open(with: key)
    }
}
