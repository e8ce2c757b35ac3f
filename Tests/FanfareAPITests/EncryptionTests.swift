import FanfareAPI
import Glibc
import Net
import TestHTTPServer
import Testing

@Suite("Requests over TLS", .timeLimit(.minutes(1))) struct EncryptionTests {
    private static func api(
        _ server: EncryptedServer,
        _ trust: BrokerAPI.Settings.Trust
    ) throws -> BrokerAPI {
        var settings = BrokerAPI.Settings()
        settings.trust = trust
        settings.retries = .none
        return try BrokerAPI(
            appID: "1",
            key: "k",
            secret: "s",
            url: "https://127.0.0.1:\(server.port)",
            settings: settings
        )
    }

    private static func withServer(
        hosts: [String],
        _ body: (EncryptedServer, TLSCertificate) async throws -> Void
    ) async throws {
        let (certificatePEM, keyPEM) = try DevelopmentCertificate.make(hosts: hosts, days: 1)
        let certificate = TLSCertificate(certificatePEM: certificatePEM, keyPEM: keyPEM)
        let server = try EncryptedServer(
            certificate: certificate,
            answer: response(#"{"channels":{}}"#)
        )
        try server.start()
        try await body(server, certificate)
        await server.stop()
    }

    @Test func acceptsAnyCertificateIfInsecure() async throws {
        try await Self.withServer(hosts: ["elsewhere.example"]) { server, _ in
            let api = try Self.api(server, .insecure)
            for _ in 0..<3 { #expect(try await api.channels().isEmpty) }
        }
    }

    @Test func acceptsTheCertificateOfAText() async throws {
        try await Self.withServer(hosts: ["127.0.0.1"]) { server, certificate in
            let api = try Self.api(server, .pem(certificate.certificatePEM))
            #expect(try await api.channels().isEmpty)
        }
    }

    @Test func acceptsTheCertificateOfAFile() async throws {
        try await Self.withServer(hosts: ["127.0.0.1"]) { server, certificate in
            var template = Array("/tmp/fanfare-api-test-XXXXXX".utf8CString)
            let descriptor = mkstemp(&template)
            try #require(descriptor >= 0)
            let path = String(decoding: template.dropLast().map { UInt8($0) }, as: UTF8.self)
            defer { unlink(path) }
            let count = write(
                descriptor,
                certificate.certificatePEM,
                certificate.certificatePEM.count
            )
            close(descriptor)
            try #require(count == certificate.certificatePEM.count)
            let api = try Self.api(server, .file(path))
            #expect(try await api.channels().isEmpty)
        }
    }

    @Test func refusesAnUnknownCertificateBeforeAnythingIsSent() async throws {
        try await Self.withServer(hosts: ["127.0.0.1"]) { server, _ in
            let api = try Self.api(server, .system)
            let error = await #expect(throws: FanfareAPIError.self) { try await api.channels() }
            guard case .unreachable = error else {
                Issue.record("expected .unreachable, not \(String(describing: error))")
                return
            }
            #expect(error?.mayHaveArrived == false)
        }
    }

    @Test func reportsUnreadableCertificates() {
        let error = #expect(throws: FanfareAPIError.self) {
            var settings = BrokerAPI.Settings()
            settings.trust = .file("/no/such/file.pem")
            _ = try BrokerAPI(
                appID: "1",
                key: "k",
                secret: "s",
                url: "https://127.0.0.1:1",
                settings: settings
            )
        }
        #expect(error?.description.contains("/no/such/file.pem") == true)
    }
}
