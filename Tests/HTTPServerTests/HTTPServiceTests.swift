import HTTP1
import HTTPServer
import Net
import Synchronization
import Testing

@Suite("A service for a small app", .timeLimit(.minutes(1))) struct HTTPServiceTests {
    /// A gate that is opened once, for current and later waiters.
    private actor Gate {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []

        func pass() async {
            if isOpen { return }
            await withCheckedContinuation { waiting.append($0) }
        }

        func open() {
            isOpen = true
            for continuation in waiting { continuation.resume() }
            waiting = []
        }
    }

    private func start(
        _ answer: @escaping @Sendable (HTTPRequest) async -> Response
    ) throws -> (HTTPService, port: UInt16) {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let service = try HTTPService.start(on: [address], answer: answer)
        return (service, try #require(service.addresses.first?.port))
    }

    @Test func passesCompleteRequestsToTheApp() async throws {
        let (service, port) = try start { request in
            #expect(request.remoteAddress?.isLoopback == true)
            return .text(
                "\(request.method) \(request.path) \(request.query["a"] ?? "-") "
                    + "\(request.form?["name"] ?? "-") \(request.field("x") ?? "-")"
            )
        }
        let texts = try await blocking {
            let peer = try Peer(port: port)
            try peer.send(post("/add?a=1%202", "name=Ada+L", "X: y") + get("/"))
            return try peer.texts(2)
        }
        #expect(texts == ["POST /add 1 2 Ada L y", "GET / - - -"])
        await service.stop()
    }

    @Test func keepsTheOrderOfAnswers() async throws {
        let gate = Gate()
        let (service, port) = try start { request in
            if request.path == "/slow" { await gate.pass() } else { await gate.open() }
            return .text(request.path)
        }
        let texts = try await blocking {
            let peer = try Peer(port: port)
            try peer.send(get("/slow") + get("/fast"))
            return try peer.texts(2)
        }
        #expect(texts == ["/slow", "/fast"])
        await service.stop()
    }

    @Test func answersRequestsUnderWayBeforeItStops() async throws {
        let gate = Gate()
        let hasBegun = Gate()
        let (service, port) = try start { request in
            await hasBegun.open()
            await gate.pass()
            return .text("done")
        }
        async let answer = blocking {
            let peer = try Peer(port: port)
            let idle = try Peer(port: port)
            try peer.send(get("/"))
            // The idle connection ends when the service stops.
            #expect(try idle.receiveToEnd().isEmpty)
            return try peer.response()
        }
        await hasBegun.pass()
        async let stop: Void = service.stop(within: .seconds(20))
        await gate.open()
        #expect(try await answer.text == "done")
        await stop
        #expect(throws: PeerError.self) { try Peer(port: port) }
    }

    @Test func stopsAtTheDeadline() async throws {
        let gate = Gate()
        let hasBegun = Gate()
        let (service, port) = try start { request in
            await hasBegun.open()
            await gate.pass()
            return .text("too late")
        }
        async let bytes = blocking {
            let peer = try Peer(port: port)
            try peer.send(get("/"))
            return (try? peer.receiveToEnd()) ?? []
        }
        await hasBegun.pass()
        await service.stop(within: .milliseconds(50))
        #expect(try await bytes.isEmpty)
        await gate.open()
    }

    @Test func throwsWhyItCannotListen() async throws {
        let (service, _) = try start { _ in .text("") }
        #expect(throws: SystemError.self) {
            try HTTPService.start(on: service.addresses) { _ in .text("") }
        }
        await service.stop()
    }
}
