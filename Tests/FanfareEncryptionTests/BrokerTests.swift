import FanfareAPI
import FanfareClient
import PusherProtocol
import Synchronization
import Testing
import TestBroker

@testable import FanfareEncryption

@Suite("Encrypted channels with a broker", .timeLimit(.minutes(1))) struct BrokerTests {
    private static let channel = "private-encrypted-a"

    /// A backend whose master key can be replaced.
    private final class Backend: Sendable {
        let key = Mutex(MasterKey.random())
        let requestCount = Atomic(0)

        var authorizer: ChannelAuthorizer {
            ChannelAuthorizer { request, channel in
                self.requestCount.add(1, ordering: .relaxed)
                guard let socketID = SocketID(request.socketID) else {
                    throw AuthorizationFailure.malformed("no socket id")
                }
                return ChannelAuthorization(
                    auth: ChannelSignature.auth(
                        socketID: socketID,
                        channel: channel,
                        key: "app-key",
                        secret: AppSecret("app-secret")
                    ),
                    sharedSecret: self.key.withLock { $0.key(of: channel).base64 }
                )
            }
        }

        func seal(_ text: String) -> String {
            key.withLock { $0.seal(text, on: BrokerTests.channel) }
        }
    }

    private func client(_ broker: TestBroker, _ backend: Backend) -> Fanfare {
        var options = ClientOptions()
        options.authorization.channels = backend.authorizer
        options.decrypter = SecretBoxDecrypter()
        return Fanfare(
            key: "app-key",
            endpoint: .plain(host: "127.0.0.1", port: UInt16(broker.port)),
            options: options
        )
    }

    /// Waits for the next event, and returns its data.
    private static func text(
        _ deliveries: inout Deliveries<ChannelEvent>.AsyncIterator
    ) async throws -> String? {
        guard case .event(let event, _) = try await deliveries.next() else { return nil }
        return event.data
    }

    @Test("Events are decrypted, also after the key has changed")
    func endToEnd() async throws {
        let broker = try await TestBroker.start()
        let backend = Backend()
        let client = client(broker, backend)
        let channel = client.channel(Self.channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        try await broker.api.trigger("e", on: Self.channel, text: backend.seal(#"{"n":"Żółć"}"#))
        #expect(try await Self.text(&events) == #"{"n":"Żółć"}"#)

        backend.key.withLock { $0 = MasterKey.random() }
        for number in 0..<5 {
            try await broker.api.trigger("e", on: Self.channel, text: backend.seal("\(number)"))
        }
        for number in 0..<5 { #expect(try await Self.text(&events) == "\(number)") }
        #expect(backend.requestCount.load(ordering: .relaxed) == 2)
        client.disconnect()
        await broker.stop()
    }

    @Test("Events encrypted with another key are reported and skipped")
    func wrongKey() async throws {
        let broker = try await TestBroker.start()
        let backend = Backend()
        let client = client(broker, backend)
        let errors = AsyncStream<FanfareError>.makeStream()
        client.onError { errors.continuation.yield($0) }
        let channel = client.channel(Self.channel)
        var events = channel.subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await channel.waitUntilSubscribed()
        let foreign = MasterKey.random().seal("secret", on: Self.channel)
        try await broker.api.trigger("e", on: Self.channel, text: foreign)
        try await broker.api.trigger("e", on: Self.channel, text: backend.seal("readable"))
        #expect(try await Self.text(&events) == "readable")
        for await error in errors.stream {
            #expect(error.code == .undecryptable)
            #expect(error.event?.data == foreign)
            #expect(error.reason.contains("master key"))
            break
        }
        client.disconnect()
        await broker.stop()
    }
}
