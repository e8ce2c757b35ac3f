import PusherProtocol
import Testing

@Suite("Socket IDs") struct SocketIDTests {
    @Test(arguments: ["123.456", "0.0", "9999999999.9999999999", "1.18446744073709551615"])
    func readsWhatItWrites(text: String) {
        #expect(SocketID(text)?.description == text)
        #expect(isWellFormed(text))
    }

    @Test(
        "Well formed for every library, but never assigned by this broker",
        arguments: ["01.2", "1.02", "00.0", "1.18446744073709551616", "99999999999999999999999.1"]
    )
    func acceptsForeignIDsAsWellFormed(text: String) {
        #expect(SocketID(text) == nil)
        #expect(isWellFormed(text))
    }

    @Test(arguments: [
        "", ".", "1", "1.", ".1", "1..2", "1.2.3", "a.1", "1.b", " 1.2", "1.2\n", "-1.2", "+1.2",
        "1,2", "1.2 ", "१.२", "1.2;", "..",
    ])
    func refuses(text: String) {
        #expect(SocketID(text) == nil)
        #expect(!isWellFormed(text))
    }

    private func isWellFormed(_ text: String) -> Bool {
        SocketID.isWellFormed(bytes(text).span)
    }
}
