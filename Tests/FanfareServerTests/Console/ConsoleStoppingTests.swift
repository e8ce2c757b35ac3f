import BrokerConfiguration
import Testing

@testable import Console
@testable import FanfareServer

@Suite("A broker that stops while a page of the console is open", .timeLimit(.minutes(2)))
struct ConsoleStoppingTests {
    /// A page that has loaded, is subscribed, and keeps an HTTP connection without a request.
    private func openPage(_ broker: TestBroker) async throws -> (WebSocketWire, Wire) {
        let page = try await ConsoleClient(port: broker.port).subscribed()
        let idle = try Wire(port: broker.port)
        try idle.send(
            "GET /console/samples HTTP/1.1\r\nHost: localhost\r\nX-Fanfare-Console: 1\r\n\r\n"
        )
        #expect(try await idle.answer().status == 200)
        return (page, idle)
    }

    /// A stop may come at any step of the feed: before its first look, between two batches, while it ends.
    @Test("It ends before its deadline, whenever it comes", arguments: [1, 2])
    func stops(loops: Int) async throws {
        for delay in [0, 0, 0, 1, 2, 5, 10, 50, 200, 300] {
            try await TestBroker.run(loops: loops) { configuration in
                configuration.shutdown.deadline = 60
            } _: { broker in
                let (page, idle) = try await openPage(broker)
                try await Task.sleep(for: .milliseconds(delay))
                let start = ContinuousClock.now
                async let stop: Void = broker.server.stop()
                try await answerClose(page)
                idle.reset()
                await stop
                #expect(ContinuousClock.now - start < .seconds(30), "after \(delay) ms")
                try await eventually { broker.server.console?.feed.isWatched == false }
            }
        }
    }

    /// The close timeout, or that of a request's head and then the close timeout.
    @Test(
        "A page that answers nothing, or whose request is unfinished, delays it by seconds",
        arguments: [
            "", "GET /console/sam",
        ]
    )
    func silentPages(request: String) async throws {
        try await TestBroker.run(loops: 2) { configuration in
            configuration.shutdown.deadline = 100
        } _: { broker in
            let (page, idle) = try await openPage(broker)
            let unfinished = try Wire(port: broker.port)
            try unfinished.send(request)
            let start = ContinuousClock.now
            await broker.server.stop()
            #expect(ContinuousClock.now - start < .seconds(50))
            withExtendedLifetime((page, idle, unfinished)) {}
        }
    }

    @Test("Requests whose answers are made outside the loop do not hold it up")
    func deferredAnswers() async throws {
        for _ in 0..<10 {
            try await TestBroker.run(loops: 2) { broker in
                var wires: [Wire] = []
                for path in ["connections", "limits", "webhooks", "limits", "connections"] {
                    let wire = try Wire(port: broker.port)
                    try wire.send(
                        "GET /console/\(path) HTTP/1.1\r\nHost: localhost\r\nX-Fanfare-Console: 1\r\n\r\n"
                    )
                    wires.append(wire)
                }
                let start = ContinuousClock.now
                async let stop: Void = broker.server.stop(within: .seconds(60))
                for wire in wires { wire.reset() }
                await stop
                #expect(ContinuousClock.now - start < .seconds(30))
            }
        }
    }

    /// Reads to the close frame and answers it, as browsers do.
    private func answerClose(_ page: WebSocketWire) async throws {
        while true {
            let message = try await page.next()
            guard let code = message.closeCode else { continue }
            #expect(code == 4200)
            try page.send(opcode: 8, [0x10, 0x68])
            return page.wire.reset()
        }
    }
}
