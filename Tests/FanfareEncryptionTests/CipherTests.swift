import CSodium
import TestRandom
import Testing

@testable import FanfareEncryption

@Suite("Secretbox") struct CipherTests {
    // "Cryptography in NaCl", §§ 8 to 10: the first key, its nonce, the text and its box.
    private static let key = bytes(
        "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"
    )
    private static let nonce = bytes("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37")
    private static let text = bytes(
        """
        be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c6129\
        6cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde\
        048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705
        """
    )
    private static let streamStart = bytes(
        "eea6a7251c1e72916d11c2cb214d3c252539121d8e234e652d651fa4c8cff880"
    )
    private static let tag = bytes("f3ffc7703f9400e52a7dfb4b3d3305d9")
    private static let ciphertext = bytes(
        """
        8e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972\
        71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da\
        99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5
        """
    )

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(digits[$0] << 4 | digits[$0 + 1])
        }
    }

    @Test("The stream, the tag and the box are those that NaCl publishes") func publishedByNaCl() {
        var stream = [UInt8](repeating: 0, count: 32)
        XSalsa20(key: Self.key, nonce: Self.nonce).apply(to: &stream)
        #expect(stream == Self.streamStart)
        #expect(Poly1305.tag(of: Self.ciphertext.span, key: stream.span) == Self.tag)
        let key = ChannelKey(bytes: Self.key)
        let box = SecretBox.seal(Self.text, nonce: Self.nonce, key: key)
        #expect(box == Self.tag + Self.ciphertext)
        #expect(SecretBox.open(box, nonce: Self.nonce, key: key) == Self.text)
    }

    // Vectors 7 to 11 of RFC 8439, appendix A.3: r, s, the text, the tag. They carry through all limbs, and need the last
    // reduction or must not make it.
    @Test(
        "Tags of numbers close to the modulus",
        arguments: [
            ("02", "", "ffffffffffffffffffffffffffffffff", "03"),
            ("02", "ffffffffffffffffffffffffffffffff", "02000000000000000000000000000000", "03"),
            (
                "01", "",
                "fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff11000000000000000000000000000000",
                "05"
            ),
            (
                "01", "",
                "fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe01010101010101010101010101010101",
                ""
            ),
            ("02", "", "fdffffffffffffffffffffffffffffff", "faffffffffffffffffffffffffffffff"),
        ]
    )
    func carries(r: String, s: String, text: String, tag: String) {
        func padded(_ hex: String) -> [UInt8] {
            let bytes = Self.bytes(hex)
            return bytes + [UInt8](repeating: 0, count: 16 - bytes.count)
        }
        let key = padded(r) + padded(s)
        #expect(Poly1305.tag(of: Self.bytes(text).span, key: key.span) == padded(tag))
    }

    @Test(
        "Boxes are those of libsodium, and each opens the other's",
        arguments: 0..<8 as Range<UInt64>
    )
    func equalsLibsodium(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in random.next() } }
        // Each number of blocks with each remainder, and lengths up to 5,000.
        let lengths =
            Array(Int(seed) * 33..<Int(seed + 1) * 33)
            + (0..<8).map { _ in Int.random(in: 0...5_000, using: &random) }
        for length in lengths {
            let (text, nonce, key) = (bytes(length), bytes(24), bytes(32))
            var theirs = [UInt8](repeating: 0, count: length + 16)
            // SAFETY: nonce and key have the lengths that the routine reads, and the box has room for its output.
            crypto_secretbox_easy(&theirs, text, UInt64(length), nonce, key)
            let ours = SecretBox.seal(text, nonce: nonce, key: ChannelKey(bytes: key))
            #expect(ours == theirs)
            #expect(SecretBox.open(theirs, nonce: nonce, key: ChannelKey(bytes: key)) == text)
            theirs[Int.random(in: theirs.indices, using: &random)] ^= 1 << UInt8.random(in: 0..<8)
            #expect(SecretBox.open(theirs, nonce: nonce, key: ChannelKey(bytes: key)) == nil)
        }
    }

    @Test("A box that is shorter than the text is refused, and an empty one opens") func short() {
        let key = ChannelKey(bytes: Self.key)
        let box = SecretBox.seal(Self.text, nonce: Self.nonce, key: key)
        for length in SecretBox.tagLength..<box.count {
            let cut = Array(box[..<length])
            #expect(SecretBox.open(cut, nonce: Self.nonce, key: key) == nil)
        }
        let empty = SecretBox.seal([], nonce: Self.nonce, key: key)
        #expect(empty.count == SecretBox.tagLength)
        #expect(SecretBox.open(empty, nonce: Self.nonce, key: key) == [])
    }
}
