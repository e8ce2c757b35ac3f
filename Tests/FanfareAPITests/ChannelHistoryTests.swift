import FanfareAPI
import Foundation
import TestBroker
import Testing

@Suite("The history of a channel", .timeLimit(.minutes(1))) struct ChannelHistoryTests {
    private static func api(_ transport: RecordingTransport) throws -> BrokerAPI {
        try BrokerAPI(appID: "3", key: "key", secret: "secret", transport: transport)
    }

    @Test("A page is requested with the given bounds")
    func requests() async throws {
        let transport = RecordingTransport(200, #"{"position":null,"messages":[]}"#)
        let api = try Self.api(transport)
        let empty = try await api.history(of: "a")
        #expect(empty.position == nil)
        #expect(empty.messages == [])
        #expect(empty.next == nil)
        #expect(!empty.isTruncated)
        _ = try await api.history(
            of: "a",
            after: 1,
            before: 9,
            since: Date(timeIntervalSince1970: 1.25),
            until: Date(timeIntervalSince1970: 2),
            order: .newest,
            limit: 5,
            stream: "s"
        )
        let targets = transport.requests.map(\.target)
        #expect(targets[0].hasPrefix("/apps/3/channels/a/history?"))
        #expect(targets[0].contains("&limit=100&order=oldest"))
        #expect(targets[1].contains("after=1&"))
        #expect(
            targets[1].contains("before=9&limit=5&order=newest&since=1250&stream=s&until=2000")
        )
    }

    @Test("Invalid arguments are refused before anything is sent", arguments: [0, -1, 1_001])
    func limits(limit: Int) async throws {
        let transport = RecordingTransport(200, "{}")
        let api = try Self.api(transport)
        await #expect(
            throws: FanfareAPIError.invalidArgument(
                "The limit is \(limit); it must be 1 to 1,000"
            )
        ) {
            try await api.history(of: "a", limit: limit)
        }
        await #expect(throws: FanfareAPIError.invalidArgument("The channel's name is empty")) {
            try await api.history(of: "")
        }
        #expect(transport.requests.isEmpty)
    }

    // MARK: With a broker

    @Test("Text that was cut inside an emoji comes with U+FFFD")
    func loneSurrogates() async throws {
        try await Self.withBroker { api in
            _ = try await api.history(of: "a")
            try await api.trigger("e", on: "a", text: #"{"t":"\ud83d"}"#)
            #expect(try await api.history(of: "a").messages.map(\.data) == [#"{"t":"\ud83d"}"#])
        }
        let page =
            #"{"position":null,"messages":[{"serial":1,"time":0,"event":"e","data":"\ud83d"}]}"#
        let history = try await Self.api(RecordingTransport(200, page)).history(of: "a")
        #expect(history.messages.map(\.data) == ["\u{FFFD}"])
    }

    private static func withBroker(_ body: (BrokerAPI) async throws -> Void) async throws {
        let broker = try await TestBroker.start()
        let api = try BrokerAPI(
            appID: "1",
            key: "app-key",
            secret: "app-secret",
            url: "http://127.0.0.1:\(broker.port)"
        )
        try await body(api)
        await broker.stop()
    }

    @Test("The kept messages come page by page, in both orders")
    func pages() async throws {
        try await Self.withBroker { api in
            #expect(try await api.channel("a", info: [.position]).position?.serial == 0)
            let began = Date()
            for number in 1...5 { try await api.trigger("e\(number)", on: "a", text: "\(number)") }
            try await api.trigger("typing", on: "a", text: "", ephemeral: true)
            var (texts, pageCount): ([String?], Int) = ([], 0)
            var after: UInt64? = 0
            while let serial = after {
                let page = try await api.history(of: "a", after: serial, limit: 2)
                texts += page.messages.map(\.data)
                pageCount += 1
                #expect(page.position?.serial == 5)
                #expect(page.oldest == 1)
                after = page.next
            }
            #expect(texts == ["1", "2", "3", "4", "5"])
            #expect(pageCount == 3)
            let newest = try await api.history(of: "a", order: .newest, limit: 2)
            #expect(newest.messages.map(\.serial) == [5, 4])
            #expect(newest.messages.map(\.event) == ["e5", "e4"])
            #expect(newest.next == 4)
            let time = try #require(newest.messages.first).time
            #expect((began.addingTimeInterval(-1)...Date().addingTimeInterval(1)).contains(time))
            let later = try await api.history(of: "a", since: time.addingTimeInterval(60))
            #expect(later.messages == [])
        }
    }

    @Test("The history of another stream is refused with 410")
    func anotherStream() async throws {
        try await Self.withBroker { api in
            try await api.trigger("e", on: "a", text: "1", info: [.position])
            let error = await #expect(throws: FanfareAPIError.self) {
                try await api.history(of: "a", stream: "gone")
            }
            guard case .refused(status: 410, _) = error else {
                Issue.record("expected 410, not \(String(describing: error))")
                return
            }
        }
    }

    @Test("Of two writers that know the same position, one wins; the other is told what to do")
    func conditions() async throws {
        try await Self.withBroker { api in
            let before = try #require(
                try await api.channel("a", info: [.position]).position
            )
            let first = try await api.trigger(
                "e",
                on: "a",
                data: 1,
                info: [.position],
                ifPosition: before
            )
            let position = try #require(first["a"]?.position)
            #expect(position == .init(stream: before.stream, serial: before.serial + 1))
            let error = await #expect(throws: FanfareAPIError.self) {
                try await api.trigger("e", on: "a", text: "2", ifPosition: before)
            }
            guard case .refused(status: 412, _) = error else {
                Issue.record("expected 412, not \(String(describing: error))")
                return
            }
            #expect(error?.mayHaveArrived == false)
            try await api.trigger("e", on: "a", text: "3", ifPosition: position)
            #expect(try await api.history(of: "a").messages.map(\.data) == ["1", "3"])
        }
    }
}
