import Digests
import Testing

// `#expect` stores its operands, which is impossible for spans, so the spans are made in here.
private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
private func sha1(_ bytes: [UInt8]) -> String { Hex.encode(Digest.sha1(bytes.span)) }
private func md5(_ bytes: [UInt8]) -> String { Hex.encode(Digest.md5(bytes.span)) }
private func sha256(_ bytes: [UInt8]) -> String { Hex.encode(Digest.sha256(bytes.span)) }
private func code(_ mac: HMACSHA256, _ message: [UInt8]) -> String {
    Hex.encode(mac.code(for: message.span))
}
private func isMD5(_ text: [UInt8], _ message: [UInt8]) -> Bool {
    Digest.isMD5(text.span, of: message.span)
}
private func isCode(_ mac: HMACSHA256, _ text: [UInt8], _ message: [UInt8]) -> Bool {
    mac.isCode(text.span, of: message.span)
}
/// Returns bytes that depend on the length.
private func pattern(_ length: Int) -> [UInt8] {
    (0..<length).map { UInt8(truncatingIfNeeded: 7 * $0 + length) }
}
private func base64Decoded(_ text: String) -> [UInt8]? {
    let ascii = bytes(text)
    return Base64.decode(ascii.span)
}
private func hexDecoded(_ text: String) -> [UInt8]? {
    let ascii = bytes(text)
    return Hex.decode(ascii.span)
}
private func hexMatches(_ text: String, _ value: [UInt8]) -> Bool {
    let ascii = bytes(text)
    return Hex.matches(ascii.span, value.span)
}

@Suite("Digests") struct DigestTests {
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ])
    func sha1Vectors(text: String, digest: String) {
        #expect(sha1(bytes(text)) == digest)
    }

    @Test(arguments: [
        ("", "d41d8cd98f00b204e9800998ecf8427e"), ("abc", "900150983cd24fb0d6963f7d28e17f72"),
    ])
    func md5Vectors(text: String, digest: String) {
        #expect(md5(bytes(text)) == digest)
    }

    @Test func sha256Vector() {
        #expect(
            sha256(bytes("abc"))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        )
    }

    @Test func longInput() {
        let million = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        #expect(
            sha256(million)
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        )
    }

    @Test("Every length around the blocks, against the digests of Python's hashlib")
    func everyLength() {
        func digestOfAll(_ digest: (Span<UInt8>) -> [UInt8]) -> String {
            sha256((0...300).flatMap { digest(pattern($0).span) })
        }
        #expect(
            digestOfAll(Digest.md5)
                == "01f484cef341ddb5881905712187a8264e23e0a8882da88890874d86f771b102"
        )
        #expect(
            digestOfAll(Digest.sha1)
                == "47239c52c701c5e05398e4709678f658b2d2108f40c2da3b6615c0121d3c0d5d"
        )
        #expect(
            digestOfAll(Digest.sha256)
                == "60d63ff40b5558727a9b786ac0be9300f7ca58fd9ddd3b2f3681b369018a87dc"
        )
    }

    @Test func isMD5ComparesWithTheDigits() {
        for length in 0...130 {
            let message = pattern(length)
            let text = bytes(md5(message))
            var wrong = text
            wrong[length % 32] ^= 1
            #expect(isMD5(text, message) && !isMD5(wrong, message))
            #expect(!isMD5(Array(text.dropLast()), message))
        }
    }
}

@Suite("HMAC-SHA256, RFC 4231") struct HMACSHA256Tests {
    @Test(
        "Test cases 1 to 3 and 6 (a key longer than a block)",
        arguments: [
            (
                [UInt8](repeating: 0x0B, count: 20), bytes("Hi There"),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                bytes("Jefe"), bytes("what do ya want for nothing?"),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131),
                bytes("Test Using Larger Than Block-Size Key - Hash Key First"),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
    )
    func vectors(key: [UInt8], message: [UInt8], expected: String) {
        let mac = HMACSHA256(key: key.span)
        #expect(code(mac, message) == expected)
        #expect(
            code(mac, message) == expected,
            "a prepared key serves many messages"
        )
    }

    @Test("Every length of key and message around the blocks, against Python's hmac")
    func everyLength() {
        let codes = (0...300).flatMap { length in
            HMACSHA256(key: pattern(length % 131).span).code(for: pattern(length).span)
        }
        #expect(
            sha256(codes) == "329ca1d1cf7ccc9731a8bae7741b593afe24ef1dfa957c81566e904d4eb4f83a"
        )
    }

    @Test func isCodeComparesWithTheDigits() {
        let mac = HMACSHA256(key: bytes("secret").span)
        for length in 0...130 {
            let message = pattern(length)
            let text = bytes(code(mac, message))
            var wrong = text
            wrong[length % 64] ^= 1
            #expect(isCode(mac, text, message) && !isCode(mac, wrong, message))
            #expect(!isCode(mac, Array(text.dropLast()), message))
        }
    }
}

@Suite("Base64 and hexadecimal text") struct TextFormTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func base64RFC4648(plain: String, text: String) {
        #expect(Base64.encode(bytes(plain)) == text)
        #expect(base64Decoded(text) == bytes(plain))
    }

    @Test(arguments: ["Zg=", "Zg", "Zh==", "Zm9=", "Z===", "====", "Zm 9", "Zm9_", "Zg==Zg=="])
    func base64Refuses(text: String) {
        #expect(base64Decoded(text) == nil)
    }

    @Test func everyByteRoundTrips() {
        let all = (0...255).map { UInt8($0) }
        for length in 0...all.count {
            let some = Array(all.prefix(length))
            #expect(base64Decoded(Base64.encode(some)) == some)
            #expect(hexDecoded(Hex.encode(some)) == some)
        }
    }

    @Test func hexMatchesWhatItEncodes() {
        for byte in UInt8.min...UInt8.max {
            let text = Hex.encode([byte])
            #expect(hexMatches(text, [byte]) && !hexMatches(text, [byte ^ 0x10]))
            #expect(!hexMatches(text, [byte ^ 1]))
        }
        #expect(hexMatches("", []) && hexMatches("00ff", [0, 255]))
        #expect(!hexMatches("00f", [0, 255]) && !hexMatches("00FF", [0, 255]))
    }

    @Test("The time of a comparison does not depend on where the texts differ")
    func hexMatchesInConstantTime() {
        // Far longer than a signature, so that a comparison that ends early would be a thousand times faster.
        let digest = [UInt8](repeating: 0xA5, count: 1 << 14)
        let right = Array(Hex.encode(digest).utf8)
        var (early, late) = (right, right)
        early[0] ^= 1
        late[right.count - 1] ^= 1
        var (least, leastLate) = (Duration.seconds(1), Duration.seconds(1))
        // The fastest of many alternating runs, since other load only adds time.
        let clock = ContinuousClock()
        var isAnyEqual = false
        for _ in 0..<50 {
            let time = clock.measure {
                isAnyEqual = Hex.matches(early.span, digest.span) || isAnyEqual
            }
            let timeLate = clock.measure {
                isAnyEqual = Hex.matches(late.span, digest.span) || isAnyEqual
            }
            (least, leastLate) = (min(least, time), min(leastLate, timeLate))
        }
        #expect(!isAnyEqual)
        #expect(least > leastLate / 3 && leastLate > least / 3)
    }

    @Test(arguments: ["0", "0G", "AB", " 0", "0x"])
    func hexRefuses(text: String) {
        #expect(hexDecoded(text) == nil)
    }
}
