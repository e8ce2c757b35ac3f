import PusherProtocol
import Testing

@testable import Broker

@Suite("Stream IDs that name where a client joined") struct JoinedStreamTests {
    private let secret = AppSecret("app-secret")

    private func channel(_ name: String) throws -> ChannelName { try ChannelName(name) }

    @Test("An ID is read back on its channel, also with dots in the stream's own")
    func roundTrip() throws {
        for text in ["k3Jx9QmT1zA", "a.b.c", "a.7"] {
            let stream = try #require(StreamID(text))
            let joined = JoinedStream(at: ChannelPosition(stream: stream, serial: 7))
            let id = joined.id(on: try channel("a"), secret: secret)
            #expect(id.text.hasPrefix("\(text).7."))
            #expect(JoinedStream(id, on: try channel("a"), secret: secret) == joined)
            #expect(JoinedStream(id, on: try channel("b"), secret: secret) == nil)
            #expect(JoinedStream(id, on: try channel("a"), secret: AppSecret("other")) == nil)
            let rotated = AppSecret(["new", "app-secret"])
            #expect(JoinedStream(id, on: try channel("a"), secret: rotated) == joined)
        }
    }

    @Test(
        "Anything else is none",
        arguments: ["k3Jx9QmT1zA", "a.7", "a.7.0123456789abcdef", "a..", "..", "a.-1.x", ".7."]
    )
    func refusals(text: String) throws {
        let id = try #require(StreamID(text))
        #expect(JoinedStream(id, on: try channel("a"), secret: secret) == nil)
    }
}
