import Broker
import PusherProtocol
import Testing
import WebSocket

@Suite("Envelopes") struct EnvelopeTests {
    /// The lengths at which the header changes (RFC 6455 §5.2).
    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536, 70_000])
    func isTheFrameOfItsText(length: Int) {
        let text = [UInt8](repeating: 0x30, count: length)
        let envelope = Envelope(text: text)
        #expect(envelope.frame == FrameEncoder.frame(.text, payload: text.span))
        #expect(envelope.text == text[...] && envelope.byteCount == length)
        #expect(Envelope(text: text.span) == envelope)
    }

    @Test("A serial is the last member of an object", arguments: [1, 9_007_199_254_740_991])
    func numbers(serial: UInt64) throws {
        let text = Array(#"{"event":"e","channel":"a","data":"d"}"#.utf8)
        let envelope = Envelope(text: text, serial: serial)
        let numbered = #"{"event":"e","channel":"a","data":"d","serial":\#(serial)}"#
        #expect(String(decoding: envelope.text, as: UTF8.self) == numbered)
        #expect(Envelope(text: text, serial: 0).text == text[...])
    }
}
