import FanfareClient
import Testing

@testable import FanfareEncryption

@Suite("Keys") struct KeyTests {
    private let master = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    @Test(
        "A channel's key equals the one other libraries derive from the master key",
        arguments: [
            ("private-encrypted-foobar", "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="),
            ("private-encrypted-cache-foobar", "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA="),
        ]
    )
    func derives(channel: String, key: String) throws {
        #expect(try MasterKey(base64: master).key(of: channel).base64 == key)
    }

    @Test func aNewKeyIsAnother() {
        let key = MasterKey.random()
        #expect(key != MasterKey.random())
        #expect((try? MasterKey(base64: key.base64)) == key)
    }

    @Test(
        "The error for an invalid key does not contain it",
        arguments: [
            ("", KeyError.wrongLength(0)), ("AAEC", .wrongLength(3)), ("not base64!", .notBase64),
            ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gIQ==", .wrongLength(34)),
        ]
    )
    func refuses(text: String, error: KeyError) {
        #expect(throws: error) { try MasterKey(base64: text) }
        #expect(throws: error) { try ChannelKey(base64: text) }
        #expect(text.isEmpty || !error.description.contains(text))
    }

    @Test func keysAreNotShown() throws {
        let key = try MasterKey(base64: master)
        for shown in [String(describing: key), String(reflecting: key), "\(key.key(of: "c"))"] {
            #expect(shown == "MasterKey(…)" || shown == "ChannelKey(…)")
        }
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("31"))
    }
}

@Suite("Encrypted events") struct SealedEventTests {
    private static let nonce = (0..<24).map(UInt8.init)
    private static let foobar = "g3Au6SZ+UCU+IMfFsFva0rq+Gi4tzSHR6WCcWZbS9sY="
    private static let cache = "ZIyrVD+0Bk6W0N6MalhVZjcRCf/fF2zNDPkN9Kb3hoA="
    private let decrypter = SecretBoxDecrypter()

    @Test(
        "Encryption is compatible with other libraries",
        arguments: [
            (
                foobar, #"{"message":"hello world"}"#,
                "JudJzMunSIiVrODAo+lfpUsGJzgoj596PYEg0Ekt7UbHsg5iiqAaZxI="
            ),
            (foobar, "hello", "6gnoZC69SuIyTXBA7pQwWlhBJjE0"),
            (foobar, #""hello""#, "sUrxfRK5mFPVVEDkKiGFPRJMLzE3k9w="),
            (foobar, #"{"n":"Żółć"}"#, "Zi+pHYVatX6gdaAjv7z6EEsGJH9h3jummxDfcOXPo1c="),
            (
                cache, #"{"message":"hello world"}"#,
                "pn0ErQfEQdDTREz1QszlGC28iuDlirPszzb3eE6neIEtEX3RZtT52lI="
            ),
        ]
    )
    func vectors(secret: String, text: String, ciphertext: String) throws {
        let sealed = SealedEvent(text, key: try ChannelKey(base64: secret), nonce: Self.nonce)
        let json = #"{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"\#(ciphertext)"}"#
        #expect(sealed.json == json)
        #expect(try decrypter.open(json, sharedSecret: secret) == text)
    }

    @Test(arguments: ["", "x", "{}", String(repeating: "ż", count: 10_000)])
    func decryptsEncryptedEvents(text: String) throws {
        let key = MasterKey.random()
        let sealed = key.seal(text, on: "private-encrypted-a")
        #expect(sealed != key.seal(text, on: "private-encrypted-a"), "each has a nonce of its own")
        let secret = key.key(of: "private-encrypted-a").base64
        #expect(try decrypter.open(sealed, sharedSecret: secret) == text)
        #expect(throws: DecryptionFailure.wrongKey) {
            let other = key.key(of: "private-encrypted-b").base64
            return try decrypter.open(sealed, sharedSecret: other)
        }
    }

    @Test("A change of any byte is detected")
    func noticesChanges() throws {
        let key = try ChannelKey(base64: Self.foobar)
        let sealed = SealedEvent("hello", key: key, nonce: Self.nonce)
        for index in sealed.box.indices {
            var box = sealed.box
            box[index] ^= 1
            #expect(SecretBox.open(box, nonce: sealed.nonce, key: key) == nil)
        }
        for index in sealed.nonce.indices {
            var nonce = sealed.nonce
            nonce[index] ^= 0x80
            #expect(SecretBox.open(sealed.box, nonce: nonce, key: key) == nil)
        }
    }

    @Test(
        "The error for malformed data says what is wrong",
        arguments: [
            ("", "expected an object"), ("{}", "expected an object"),
            (#""text""#, "expected an object"),
            (#"{"nonce":1,"ciphertext":""}"#, "expected an object"),
            (#"{"nonce":"?","ciphertext":""}"#, "not base64"),
            (#"{"nonce":"AAEC","ciphertext":""}"#, "3 bytes instead of 24"),
            (
                #"{"nonce":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYX","ciphertext":"AAEC"}"#,
                "ciphertext of 3 bytes"
            ),
        ]
    )
    func refuses(data: String, reason: String) {
        do throws(DecryptionFailure) {
            _ = try decrypter.open(data, sharedSecret: Self.foobar)
            Issue.record("this should not open: \(data)")
        } catch {
            guard case .malformed = error else {
                Issue.record("\(error)")
                return
            }
            #expect("\(error)".contains(reason))
            #expect(!error.mayHaveAnotherKey)
        }
    }

    @Test func anInvalidKeyMayBeReplaced() {
        let data = MasterKey.random().seal("x", on: "private-encrypted-a")
        #expect(throws: DecryptionFailure.invalidKey("it has 3 bytes instead of 32")) {
            try decrypter.open(data, sharedSecret: "AAEC")
        }
        #expect(DecryptionFailure.invalidKey("").mayHaveAnotherKey)
    }
}
