import Testing

@testable import Primitives

@Suite("Sets of octets") struct OctetSetTests {
    private func isLetterOrDigit(_ byte: UInt8) -> Bool {
        byte < 0x80 && (Character(UnicodeScalar(byte)).isLetter || (0x30...0x39).contains(byte))
    }

    @Test("tchar, RFC 9110 §5.6.2") func token() {
        for byte in UInt8.min...UInt8.max {
            let isMark = "!#$%&'*+-.^_`|~".utf8.contains(byte)
            #expect(OctetSet.token.contains(byte) == (isLetterOrDigit(byte) || isMark), "\(byte)")
        }
    }

    @Test("unreserved, RFC 3986 §2.3") func unreserved() {
        for byte in UInt8.min...UInt8.max {
            let isMark = "-._~".utf8.contains(byte)
            #expect(
                OctetSet.unreserved.contains(byte) == (isLetterOrDigit(byte) || isMark),
                "\(byte)"
            )
        }
    }

    @Test func kindsOfCharacters() {
        for byte in UInt8.min...UInt8.max {
            let character = Character(UnicodeScalar(byte))
            #expect(byte.isDigit == (byte < 0x80 && character.isWholeNumber))
            #expect(byte.isLetter == (byte < 0x80 && character.isLetter))
            #expect(byte.hexValue.map { Int($0) } == (byte < 0x80 ? character.hexDigitValue : nil))
            let isUpper = (0x41...0x5A).contains(byte)
            #expect(byte.lowercased == (isUpper ? byte + 0x20 : byte))
        }
    }
}
