import Broker
import Foundation
import HTTP1
import HTTPServer
import Net
import PusherProtocol
import TestHTTPServer
import Testing

@testable import Webhooks

@Suite("Requests on the wire", .timeLimit(.minutes(1))) struct HTTPTransportTests {
    private func request(_ url: String) -> WebhookRequest {
        let headers = [("Content-Type", "application/json"), ("X-Pusher-Key", "k")]
        return WebhookRequest(
            url: url,
            headers: headers.map { (name: $0.0, value: $0.1) },
            body: Array("{}".utf8)
        )
    }

    private func send(
        _ url: String,
        timeout: Duration = .seconds(10),
        trustFile: String? = nil
    ) async throws -> SendOutcome {
        let transport = try HTTPTransport(timeout: timeout, trustFile: trustFile)
        let outcome = await transport.send(request(url))
        await transport.close()
        return outcome
    }

    private func isFailure(_ outcome: SendOutcome) -> Bool {
        if case .failed = outcome { true } else { false }
    }

    @Test func aReceiverGetsExactlyWhatTheProtocolSays() async throws {
        let receiver = try Receiver()
        let hook = endpoint(receiver.url, headers: ["X-Custom": "1", "User-Agent": "Mine"])
        let webhooks = Webhooks(
            settings: WebhookSettings(),
            apps: [app(endpoints: [hook])],
            log: Stage.silence
        )
        try await webhooks.start()
        webhooks.report(
            .clientEvent(
                channel("private-a"),
                nameToken: Array(#""client-a""#.utf8),
                dataToken: Array(#""Żółć""#.utf8),
                sender: SocketID(1, 2),
                userID: nil
            ),
            of: appID
        )
        try await eventually { webhooks.counters.delivered == 1 }
        await webhooks.stop(within: .seconds(1))
        let request = try #require(receiver.requests.first)
        #expect(request.method == .post)
        #expect(request.head.target == "/hooks?a=b")
        // Compares names with their case, since some receivers do.
        let fields = Dictionary(grouping: request.head.fields, by: \.name).mapValues {
            $0.map(\.value)
        }
        #expect(fields["Content-Type"] == ["application/json"])
        #expect(fields["X-Pusher-Key"] == ["key-1"])
        #expect(fields["X-Custom"] == ["1"])
        #expect(fields["User-Agent"] == ["Mine"])
        #expect(fields["X-Delivery-Id"]?.count == 1)
        let signature = try #require(fields["X-Pusher-Signature"]?.first)
        #expect(verify(signature, request.body))
        let body = String(decoding: request.body, as: UTF8.self)
        #expect(body.hasSuffix(#""event":"client-a","data":"Żółć","socket_id":"1.2"}]}"#))
        await receiver.stop()
    }

    private func verify(_ signature: String, _ body: [UInt8]) -> Bool {
        WebhookSignature.verify(signature, body: body.span, secret: AppSecret("secret-1"))
    }

    @Test(arguments: [200, 204, 299, 400, 404, 410, 500, 503] as [Status])
    func reportsTheStatus(status: Status) async throws {
        let receiver = try Receiver { _ in Response(status: status) }
        let outcome = try await send(receiver.url)
        #expect(outcome == .answered(status: status.code))
        #expect(outcome.isSuccess == (200..<300).contains(status.code))
        await receiver.stop()
    }

    @Test(arguments: [301, 302, 303, 307, 308] as [Status])
    func followsNoRedirect(status: Status) async throws {
        let target = try Receiver()
        let receiver = try Receiver { _ in
            Response(status: status, fields: [Field("Location", target.url)])
        }
        let outcome = try await send(receiver.url)
        #expect(outcome == .answered(status: status.code))
        #expect(!outcome.isSuccess)
        #expect(outcome.complaint.contains("redirect"))
        #expect(target.requests.isEmpty)
        await receiver.stop()
        await target.stop()
    }

    @Test func aReceiverThatDoesNotAnswerInTimeHasFailed() async throws {
        let receiver = try Receiver { _ in
            try? await Task.sleep(for: .seconds(3_600))
            return .text("too late")
        }
        let outcome = try await send(receiver.url, timeout: .milliseconds(100))
        #expect(outcome == .failed("no answer came within 0.1 seconds"))
        await receiver.stop()
    }

    @Test func anUnreachableReceiverHasFailed() async throws {
        // The kernel never assigns port 1; the port of a stopped receiver may be another test's by now.
        #expect(isFailure(try await send("http://127.0.0.1:1/hooks")))
    }

    @Test func aSlowEndpointBlocksNoOtherOnItsHost() async throws {
        let receiver = try Receiver { request in
            if request.path == "/slow" { try? await Task.sleep(for: .seconds(60)) }
            return .text("OK")
        }
        let root = receiver.url.replacing("/hooks?a=b", with: "")
        var settings = WebhookSettings()
        settings.timeout = .seconds(60)
        let webhooks = Webhooks(
            settings: settings,
            apps: [app(endpoints: [endpoint(root + "/slow"), endpoint(root + "/fast")])],
            log: Stage.silence
        )
        try await webhooks.start()
        for number in 0..<40 {
            webhooks.report(.channelOccupied(channel("c\(number)")), of: appID)
        }
        // A webhook that was delivered leaves the queue a moment later.
        try await eventually { webhooks.counters.delivered == 40 && webhooks.counters.queued == 40 }
        await webhooks.stop(within: .zero)
        await receiver.stop()
    }

    @Test func theEndpointsOfAServerShareAKeptConnection() async throws {
        let server = try ScriptedServer { _, _ in .answer(response("ok")) }
        let transport = try HTTPTransport(timeout: .seconds(10), trustFile: nil)
        for path in ["/a", "/a", "/b?c=d", "/żółć"] {
            let outcome = await transport.send(request(server.url + path))
            #expect(outcome == .answered(status: 200))
        }
        await transport.close()
        #expect(server.connectionCount == 1)
        let targets = ["/a", "/a", "/b?c=d", "/%C5%BC%C3%B3%C5%82%C4%87"]
        #expect(server.received.map(\.target) == targets)
        server.stop()
    }

    @Test func aKeptConnectionThatHasEndedIsReplaced() async throws {
        // The second request finds it closed, and is repeated: an event may arrive twice, but must arrive.
        let server = try ScriptedServer { _, index in
            index == 1 ? .close : .answer(response("ok"))
        }
        let transport = try HTTPTransport(timeout: .seconds(10), trustFile: nil)
        for _ in 0..<2 {
            #expect(await transport.send(request(server.url)) == .answered(status: 200))
        }
        await transport.close()
        #expect(server.received.map(\.connection) == [0, 0, 1])
        server.stop()
    }

    @Test func anIPv6AddressIsInBrackets() async throws {
        let address = try #require(SocketAddress(ip: "::1", port: 0))
        // A machine may have no IPv6.
        let service = try? HTTPService.start(on: [address]) { _ in .text("OK") }
        guard let service else { return }
        let port = try #require(service.addresses.first?.port)
        #expect(try await send("http://[::1]:\(port)/hooks") == .answered(status: 200))
        await service.stop(within: .zero)
    }

    @Test func aClosedTransportSendsNothing() async throws {
        let transport = try HTTPTransport(timeout: .seconds(10), trustFile: nil)
        await transport.close()
        #expect(isFailure(await transport.send(request("http://127.0.0.1:1/"))))
        await transport.close()
    }

    @Test func aLongAnswerIsNotReadToItsEnd() async throws {
        let receiver = try Receiver { _ in
            Response(status: 200, body: [UInt8](repeating: 0x61, count: 5_000_000))
        }
        #expect(try await send(receiver.url) == .answered(status: 200))
        await receiver.stop()
    }

    @Test func tlsIsTrustedByTheFileAlone() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["127.0.0.1"])
        let (other, _) = try DevelopmentCertificate.make(hosts: ["127.0.0.1"])
        try Data(certificate).write(to: folder.url.appendingPathComponent("trust.pem"))
        try Data(other).write(to: folder.url.appendingPathComponent("other.pem"))
        let context = try TLSContext.server([
            TLSCertificate(certificatePEM: certificate, keyPEM: key)
        ])
        let receiver = try Receiver(tls: context)
        let trusting = try await send(receiver.url, trustFile: folder.path("trust.pem"))
        #expect(trusting == .answered(status: 200))
        #expect(isFailure(try await send(receiver.url)))
        #expect(isFailure(try await send(receiver.url, trustFile: folder.path("other.pem"))))
        #expect(receiver.requests.count == 1)
        await receiver.stop()
    }

    @Test func anInvalidTrustFileIsRefusedAtTheStart() async throws {
        let path = try TemporaryFolder().path("none.pem")
        let webhooks = Webhooks(
            settings: WebhookSettings(trustFile: path),
            apps: [],
            log: Stage.silence
        )
        await #expect(throws: WebhooksError.self) { try await webhooks.start() }
        await webhooks.stop(within: .zero)
    }
}
