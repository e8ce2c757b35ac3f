import Testing
import TestRandom

@testable import WebSocket

@Suite("Whole messages, RFC 6455 §5.6") struct MessageTests {
    @Test(
        "Messages of every length form (Autobahn 1.1, 1.2)",
        arguments: [
            (0, "00"), (1, "01"), (125, "7D"), (126, "7E 007E"), (127, "7E 007F"),
            (128, "7E 0080"), (65535, "7E FFFF"), (65536, "7F 0000000000010000"),
        ]
    )
    func isHeard(_ length: Int, header: String) {
        let payload = [UInt8](repeating: 0x2A, count: length)
        let text = String(repeating: "*", count: length)
        if length < 1000 {
            expect(bytes("81 \(header)") + payload, areReceivedAs: [.text(text)])
            expect(bytes("82 \(header)") + payload, areReceivedAs: [.binary(payload)])
        } else {
            // Cut in pieces of 997 bytes instead of everywhere (Autobahn 1.1.8).
            let stream = masked(bytes("81 \(header)") + payload + bytes("82 \(header)") + payload)
            let pieces = stride(from: 0, to: stream.count, by: 997).map {
                Array(stream[$0..<min($0 + 997, stream.count)])
            }
            #expect(receive(pieces, as: .server) == [.text(text), .binary(payload)])
            #expect(receive([stream], as: .server) == [.text(text), .binary(payload)])
        }
    }

    @Test func theExamplesOfSection5_7() {
        #expect(receive([bytes("81 05 48656c6c6f")], as: .client) == [.text("Hello")])
        #expect(receive([bytes("81 85 37fa213d 7f9f4d5158")], as: .server) == [.text("Hello")])
        #expect(receive([bytes("01 03 48656c 80 02 6c6f")], as: .client) == [.text("Hello")])
        #expect(receive([bytes("89 05 48656c6c6f")], as: .client) == [.ping(bytes("'Hello'"))])
        #expect(
            receive([bytes("8a 85 37fa213d 7f9f4d5158")], as: .server) == [.pong(bytes("'Hello'"))]
        )
        let long = (0..<65536).map { UInt8(truncatingIfNeeded: $0) }
        #expect(
            receive([bytes("82 7E 0100") + long[..<256]], as: .client) == [
                .binary(Array(long[..<256]))
            ]
        )
        #expect(
            receive([bytes("82 7F 0000000000010000") + long], as: .client) == [.binary(long)]
        )
    }

    @Test func aMessageCompleteInTheBytesIsNotCopied() {
        var receiver = Receiver(.server)
        receiver.feed(masked(bytes("81 05 'Hello' 82 02 FFFE 81 00")))
        #expect(receiver.events == [.text("Hello"), .binary([0xFF, 0xFE]), .text("")])
        #expect(receiver.uncopiedCount == 3)
        #expect(receiver.endpoint.hasIncompleteMessage == false)
    }

    @Test func payloadsAreUnmaskedInPlace() throws {
        var stream = masked(bytes("81 05 'Hello'"))
        var endpoint = WebSocketEndpoint(role: .server)
        var position = 0
        var span = stream.mutableSpan
        let incoming = try endpoint.next(in: &span, at: &position)
        #expect(incoming?.kind == .text && position == 11)
        #expect(Array(stream[6...]) == bytes("'Hello'"))
    }

    @Test func messagesInOneReadAreReturnedOneByOne() {
        expect(
            bytes("81 01 'a' 82 01 'b' 89 01 'c' 8A 01 'd' 81 01 'e' 88 02 03E8"),
            areReceivedAs: [
                .text("a"), .binary([0x62]), .ping([0x63]), .pong([0x64]), .text("e"),
                .close(.normal, ""),
            ]
        )
    }

    @Test func anIdleEndpointIsSmallAndHasNoBuffer() {
        #expect(MemoryLayout<WebSocketEndpoint>.size <= 48)
        var receiver = Receiver(.server)
        let stream = masked(bytes("81 05 'Hello'"))
        receiver.feed(stream[..<8])
        #expect(receiver.endpoint.hasIncompleteMessage == true)
        receiver.feed(stream[8...])
        #expect(!receiver.endpoint.hasIncompleteMessage && receiver.unread.isEmpty)
    }

    @Test func eachSideMasksAsItMust() {
        let failed = [EndpointEvent.failed(.unmaskedFrame)]
        #expect(receive([bytes("81 05 'Hello'")], as: .server) == failed)
        #expect(
            receive([bytes("81 85 00000000 'Hello'")], as: .client) == [.failed(.maskedFrame)]
        )
    }
}

@Suite("Sending") struct SendingTests {
    @Test func aServerDoesNotMask() {
        var server = WebSocketEndpoint(role: .server)
        let hello = bytes("'Hello'")
        #expect(server.encode(.text, hello.span) == bytes("81 05 'Hello'"))
        #expect(server.encode(.binary, hello.span) == bytes("82 05 'Hello'"))
        #expect(server.ping(hello.span) == bytes("89 05 'Hello'"))
        #expect(server.pong(hello.span) == bytes("8A 05 'Hello'"))
    }

    @Test func aClientMasks() {
        var client = WebSocketEndpoint(role: .client)
        let hello = bytes("'Hello'")
        #expect(
            client.encode(.text, hello.span, mask: 0x37FA_213D)
                == bytes("81 85 37fa213d 7f9f4d5158")
        )
        #expect(client.close(.normal, mask: 0x0000_0000) == bytes("88 82 00000000 03E8"))
    }

    @Test func theWrongRoleForAMaskTraps() async {
        await #expect(processExitsWith: .failure) {
            var client = WebSocketEndpoint(role: .client)
            _ = client.close(.normal)
        }
        await #expect(processExitsWith: .failure) {
            var server = WebSocketEndpoint(role: .server)
            _ = server.close(.normal, mask: 1)
        }
    }

    @Test func eachSideReceivesWhatTheOtherSends() {
        var random = SeededRandom(seed: 5)
        for length in [0, 1, 3, 125, 126, 65535, 65536, 100_000] {
            let payload = random.bytes(length)
            var client = WebSocketEndpoint(role: .client)
            var server = WebSocketEndpoint(role: .server)
            let mask = UInt32(truncatingIfNeeded: random.next())
            let up = client.encode(.binary, payload.span, mask: mask) ?? []
            let down = server.encode(.binary, payload.span) ?? []
            #expect(receive([up], as: .server) == [.binary(payload)])
            #expect(receive([down], as: .client) == [.binary(payload)])
        }
    }
}
