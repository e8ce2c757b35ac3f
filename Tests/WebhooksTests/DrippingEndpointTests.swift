import Foundation
import HTTP1
import Net
import Testing

@testable import Webhooks

@Suite("Endpoints that answer byte by byte, endlessly", .timeLimit(.minutes(1)))
struct DrippingEndpointTests {
    private static let interim = "HTTP/1.1 100 Continue\r\n\r\n"

    /// The maximum number of reads: eight at once, five with doubling pauses, then one each 250 ms.
    private func readCountMax(in time: Duration) -> Int { 14 + Int(time / .milliseconds(250)) }

    /// The timeouts to try: on a busy machine an endpoint may answer late.
    private static let timeouts = [Duration.seconds(2), .seconds(8), .seconds(24)]

    /// Makes one attempt; returns the number of reads and the elapsed time.
    private func attempt(
        _ endpoint: DrippingEndpoint,
        timeout: Duration
    ) async throws -> (outcome: SendOutcome, reads: Int, time: Duration) {
        try await attempt(endpoint.url, timeout: timeout, trustFile: nil)
    }

    private func attempt(
        _ url: String,
        timeout: Duration,
        trustFile: String?
    ) async throws -> (outcome: SendOutcome, reads: Int, time: Duration) {
        let transport = try HTTPTransport(timeout: timeout, trustFile: trustFile)
        let body = [UInt8](repeating: 0x61, count: DrippingForwarder.requestLengthMin)
        let request = WebhookRequest(url: url, headers: [], body: body)
        let start = ContinuousClock.now
        let outcome = await transport.send(request)
        let time = start.duration(to: .now)
        await transport.close()
        return (outcome, transport.readCount, time)
    }

    @Test(
        "A head costs few reads, and fails at the timeout or at the length limit",
        arguments: [
            ("HTTP/1.1 200 OK\r\nX: ", "a"), ("HTTP/1.1 200 OK\r\n", "A: b\r\n"), ("", interim),
        ]
    )
    func head(start: String, drip: String) async throws {
        for timeout in Self.timeouts {
            let endpoint = try DrippingEndpoint(start: start, drip: drip, pause: 2_000)
            let (outcome, reads, time) = try await attempt(endpoint, timeout: timeout)
            guard case .failed = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(time < timeout + .seconds(8))
            #expect(reads <= readCountMax(in: time), "\(endpoint.dripCount) writes")
            if endpoint.dripCount > 50 { return }
        }
        Issue.record("the endpoint had no time to answer")
    }

    @Test(
        "Content is ignored: the status is the answer, without delay",
        arguments: [
            ("\r\n", "a"), ("Content-Length: 60000\r\n\r\n", "a"),
            ("Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"),
        ]
    )
    func content(fields: String, drip: String) async throws {
        let start = "HTTP/1.1 503 Busy\r\n" + fields
        let endpoint = try DrippingEndpoint(start: start, drip: drip, pause: 2_000)
        let (outcome, reads, time) = try await attempt(endpoint, timeout: .seconds(20))
        #expect(outcome == .answered(status: 503))
        #expect(reads <= readCountMax(in: time), "\(endpoint.dripCount) writes")
        #expect(time < .seconds(10))
    }

    @Test("A TLS record costs few reads, too") func record() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = try DevelopmentCertificate.make(hosts: ["127.0.0.1"])
        try Data(certificate).write(to: folder.url.appendingPathComponent("trust.pem"))
        let tls = try TLSContext.server([TLSCertificate(certificatePEM: certificate, keyPEM: key)])
        let receiver = try Receiver(tls: tls) { _ in
            Response(status: 200, body: [UInt8](repeating: 0x61, count: 10_000))
        }
        var dripCount = 0
        for timeout in Self.timeouts where dripCount <= 50 {
            let forwarder = try DrippingForwarder(to: receiver.port, pause: 2_000)
            let (outcome, reads, time) = try await attempt(
                "https://127.0.0.1:\(forwarder.port)/",
                timeout: timeout,
                trustFile: folder.path("trust.pem")
            )
            // The status is inside the record, which is incomplete.
            guard case .failed(let reason) = outcome, reason.hasPrefix("no answer came") else {
                Issue.record("\(outcome)")
                break
            }
            dripCount = forwarder.dripCount
            #expect(reads <= readCountMax(in: time), "\(dripCount) writes")
        }
        #expect(dripCount > 50, "the endpoint had no time to answer")
        await receiver.stop()
    }

    @Test("Endless interim answers are refused")
    func endlessInterimAnswers() async throws {
        let drip = String(repeating: Self.interim, count: 1_000)
        let endpoint = try DrippingEndpoint(start: "", drip: drip, pause: 0)
        let (outcome, _, _) = try await attempt(endpoint, timeout: .seconds(20))
        #expect(
            outcome == .failed("the request failed: the answer is longer than 65536 bytes")
        )
        #expect(endpoint.dripCount * drip.utf8.count < 10_000_000)
    }
}
