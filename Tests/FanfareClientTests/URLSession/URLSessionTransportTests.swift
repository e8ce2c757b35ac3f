import Foundation
import Testing

@testable import FanfareClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

#if os(Linux) && DEBUG
    @Suite("URLSession on Linux", .timeLimit(.minutes(1))) struct URLSessionTransportTests {
        @Test func namesTheSocketTransport() async {
            let receiver = ScriptedReceiver()
            var request = TransportRequest.toBroker()
            request.endpoint = .plain(host: "127.0.0.1", port: 9)
            request.proxy = .http(host: "127.0.0.1", port: 9)
            request.subprotocols = ["a", "b"]
            let connection = URLSessionTransport().open(request, receiver: receiver)
            connection.send(Array("early".utf8))
            let closure = await receiver.closure()
            guard case .unreachable(let reason) = closure else {
                Issue.record("\(String(describing: closure))")
                return
            }
            #expect(reason.contains("-1002") && reason.contains("socket transport"), "\(reason)")
            #expect(receiver.all.count == 1)
        }

        @Test func reportsInvalidOptions() async {
            for (change, word) in [
                ({ $0.trust = .pem("x") }, "PEM"),
                ({ $0.endpoint = .secure(host: "no host") }, "not a URL"),
            ] as [((inout TransportRequest) -> Void, String)] {
                let receiver = ScriptedReceiver()
                var request = TransportRequest.toBroker()
                change(&request)
                _ = URLSessionTransport().open(request, receiver: receiver)
                #expect("\(String(describing: await receiver.closure()))".contains(word))
            }
        }

        @Test func endsQuietlyWhenClosedAtOnce() async {
            let receiver = ScriptedReceiver()
            let request = TransportRequest.toBroker()
            let connection = URLSessionTransport().open(request, receiver: receiver)
            connection.close(code: 1000, reason: "")
            #expect(receiver.all == [])
        }

        @Test func leaksNoSessionWhenCancelledBeforeItStarts() async throws {
            weak var session: URLSession?
            do {
                let request = TransportRequest.toBroker()
                let link = TaskLink(request, ScriptedReceiver())
                let plan = try ConnectionPlan(for: request)
                let task = try #require(SessionTask(request, plan, link))
                session = task.session
                task.cancel()
            }
            while session != nil, !Task.isCancelled { await Task.yield() }
            #expect(session == nil)
        }
    }
#endif
