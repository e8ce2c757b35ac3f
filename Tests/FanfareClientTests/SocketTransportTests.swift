import BrokerConfiguration
import Net
import PusherProtocol
import Testing
import WebSocket

@testable import FanfareClient

@Suite("Socket transport", .timeLimit(.minutes(1))) struct SocketTransportTests {
    private let eager = Backoff(floor: .zero, window: .milliseconds(1), cap: .milliseconds(2))

    private func client(
        _ port: UInt16,
        _ change: (inout ClientOptions) -> Void = { _ in }
    ) -> Fanfare {
        var options = ClientOptions()
        options.reconnection.backoff = eager
        change(&options)
        return Fanfare(
            key: "app-key",
            endpoint: .plain(host: "localhost", port: port),
            options: options
        )
    }

    @Test func subscribesReceivesAndUnsubscribes() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = client(port)
        let events = client.channel("a").subscription().deliveries("e")
        client.connect()
        try await client.channel("a").waitUntilSubscribed()
        for number in 0..<1000 {
            await server.send(
                .event(ReceivedEvent(name: "e", channel: "a", data: "number \(number)"))
            )
        }
        var expected = 0
        for try await case .event(let event, _) in events {
            #expect(event.data == "number \(expected)")
            expected += 1
            if expected == 1000 { break }
        }
        client.disconnect()
        #expect(
            await server.next()
                == .connected(target: "/app/app-key?protocol=7&client=fanfare-swift&receipts=true")
        )
        #expect(await server.next() == .said(.subscribe("a")))
        #expect(await server.next() == .closed(code: 1000))
        #expect(await server.next() == .gone)
        await server.stop()
    }

    @Test func takesFramesInPiecesAndMessagesInFragments() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = client(port)
        var events = client.channel("a").subscription().deliveries("e").makeAsyncIterator()
        client.connect()
        try await client.channel("a").waitUntilSubscribed()
        let text = ServerMessage.event(ReceivedEvent(name: "e", channel: "a", data: "é")).bytes
        let (head, tail) = (Array(text[..<20]), Array(text[20...]))
        var frames: [UInt8] = []
        FrameEncoder.append(.text, isFinal: false, payload: head.span, to: &frames)
        FrameEncoder.append(.ping, payload: head.span, to: &frames)
        FrameEncoder.append(.continuation, payload: tail.span, to: &frames)
        await server.sendSlowly(frames)
        #expect(try await events.event()?.data == "é")
        client.disconnect()
        await server.stop()
    }

    @Test func reconnectsByTheCloseCodeAndResubscribes() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = client(port)
        let events = client.channel("a").subscription().deliveries("e")
        client.connect()
        for code in [UInt16?.some(4200), 1001, 4300, nil, 1011] {
            await server.wait(for: .said(.subscribe("a")))
            await server.close(code, "again")
        }
        await server.wait(for: .said(.subscribe("a")))
        await server.cut()
        await server.wait(for: .said(.subscribe("a")))
        await server.send(.event(ReceivedEvent(name: "e", channel: "a", data: "1")))
        for try await case .event(let event, _) in events {
            #expect(event.data == "1")
            break
        }
        await server.close(4001, "no such app")
        let error = FanfareError.refused(code: 4001, message: "no such app")
        for await status in client.statuses() where status == .failed(because: error) { break }
        await server.stop()
    }

    @Test func closesAfterGarbageAndReconnects() async throws {
        let garbage: [[UInt8]] = [
            [0x81, 0x81, 0, 0, 0, 0, 0x41],  // masked
            [0xC1, 0x01, 0x41],  // compressed, though that was not agreed
            [0x81, 0x01, 0xFF],  // not UTF-8
            [0x82, 0x01, 0x00],  // binary
            [0x81, 0x7F, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF],  // too long, announced only
            [0x83, 0x00],  // no such opcode
        ]
        let (server, port) = try await ScriptedServer.start()
        let client = client(port)
        client.connect()
        var statuses = client.statuses().makeAsyncIterator()
        for bytes in garbage {
            while let status = await statuses.next(), !status.isConnected {}
            await server.send(bytes)
            var fault: FanfareError?
            while fault == nil, let status = await statuses.next() {
                if case .waiting(_, let error) = status { fault = error }
            }
            guard fault?.code == .protocolViolation else {
                Issue.record("\(bytes): \(String(describing: fault))")
                break
            }
        }
        client.disconnect()
        await server.stop()
    }

    @Test func endsAMessageThatIsTooLongBeforeItHasCome() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = client(port) { $0.limits.messageLengthMax = 1000 }
        client.connect()
        try await client.waitUntilConnected()
        var header: [UInt8] = []
        FrameEncoder.appendHeader(.text, payloadLength: 1001, to: &header)
        await server.send(header)
        await server.wait(for: .closed(code: 1009))
        client.disconnect()
        await server.stop()
    }

    @Test func reportsAServerThatIsNotABroker() async throws {
        let answers = [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n": "404",
            "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n": "403",
            "HTTP/1.1 503 Busy\r\nContent-Length: 99999999999\r\n\r\n": "503",
            "HTTP/1.0 101 Switching Protocols\r\n\r\n": "HTTP/1.0",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n": "Connection",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: bm9ib2R5\r\n\r\n": "Sec-WebSocket-Accept",
            "HTTP/1.1 400 x\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nUse wss!\n":
                "instead of 101. It says: Use wss!",
            "SSH-2.0-OpenSSH_9.2\r\n\r\n": "not HTTP",
            "HTTP/1.1 101 x\r\nbad line\r\n\r\n": "not HTTP",
            "HTTP/1.1 101 x\nUpgrade: websocket\n\n\r\n\r\n": "not HTTP",
            "HTTP/1.1 200 OK": "without a response",
            String(repeating: "x", count: 20_000): "too long",
        ]
        for (answer, reason) in answers {
            let (server, port) = try await ScriptedServer.start(.answers(answer))
            let client = client(port) { $0.reconnection.attemptCountMax = 0 }
            client.connect()
            for await status in client.statuses() {
                guard case .failed(let error) = status else { continue }
                guard error.code == .upgradeRefused, error.reason.contains(reason) else {
                    Issue.record("\(answer.prefix(60)): \(error)")
                    break
                }
                break
            }
            await server.stop()
        }
    }

    @Test func reportsAClosedPort() async throws {
        // The kernel never chooses port 1; that of a server just stopped may be another test's by now.
        let port: UInt16 = 1
        for host in ["127.0.0.1", "localhost", "no-such-host.invalid"] {
            var options = ClientOptions()
            options.reconnection.attemptCountMax = 0
            let endpoint = Endpoint.plain(host: host, port: port)
            let client = Fanfare(key: "k", endpoint: endpoint, options: options)
            client.connect()
            await #expect(throws: FanfareError.self) { try await client.waitUntilConnected() }
            guard case .failed(let error) = client.status, error.code == .unreachable else {
                Issue.record("\(client.status)")
                continue
            }
            #expect(!error.reason.isEmpty && error.message.contains("\(endpoint)"))
        }
    }

    @Test func timesOutWithoutAResponse() async throws {
        for manner in [ScriptedServer.Manner.silent, .deaf] {
            let (server, port) = try await ScriptedServer.start(manner)
            let client = client(port) {
                $0.reconnection.attemptCountMax = 0
                $0.network.connectTimeout = .milliseconds(50)
            }
            client.connect()
            for await status in client.statuses() {
                guard case .failed(let error) = status else { continue }
                #expect(error == .connectTimedOut(client.endpoint, limit: .milliseconds(50)))
                break
            }
            await server.wait(for: .gone)
            await server.stop()
        }
    }

    @Test func noticesADeadConnection() async throws {
        let (server, port) = try await ScriptedServer.start(.silent)
        let client = client(port) {
            $0.network.activityTimeout = .milliseconds(20)
            $0.network.pongTimeout = .milliseconds(20)
            $0.reconnection.attemptCountMax = 0
        }
        client.connect()
        await server.wait(
            for: .connected(target: "/app/app-key?protocol=7&client=fanfare-swift&receipts=true")
        )
        await server.send(.connectionEstablished(socketID: SocketID(1, 2), activityTimeout: 120))
        await server.wait(for: .said(.ping))
        for await status in client.statuses() {
            guard case .failed(let error) = status else { continue }
            #expect(error == .pingUnanswered(limit: .milliseconds(20)))
            break
        }
        await server.wait(for: .closed(code: 1000))
        await server.stop()
    }

    @Test func disconnectsInEveryPhase() async throws {
        let (server, port) = try await ScriptedServer.start()
        for pause in 0..<30 {
            let client = client(port)
            let changes = Seen<ConnectionStatus>()
            client.subscribe("a")
            client.connect()
            // At any point between name lookup and the first event.
            try await Task.sleep(for: .microseconds(pause * 100))
            client.disconnect()
            client.onStatusChange { changes.add($0) }
            try await Task.sleep(for: .milliseconds(2))
            #expect(changes.all == [])
            #expect(client.status == .disconnected)
        }
        await server.stop()
    }

    @Test func holdsTheServerUpWhileCallbacksAreSlow() async throws {
        let (server, port) = try await ScriptedServer.start()
        let client = client(port) { $0.limits.pendingCallbackCountMax = 100 }
        let recorder = Recorder()
        await recorder.record(of: client.channel("a"))
        client.subscribe("a")
        client.connect()
        try await client.channel("a").waitUntilSubscribed()
        recorder.suspend()
        let filler = String(repeating: "x", count: 1000)
        for number in 0..<10_000 {
            await server.send(
                .event(ReceivedEvent(name: "e", channel: "a", data: "\(number)\(filler)"))
            )
        }
        recorder.resume()
        let lines = await recorder.wait(for: 10_000)
        #expect(lines == (0..<10_000).map { "\($0)\(filler)" })
        client.disconnect()
        await server.stop()
    }
}
