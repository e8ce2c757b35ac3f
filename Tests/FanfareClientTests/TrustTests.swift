import Foundation
import HTTPClient
import Net
import Testing

@testable import FanfareClient

@Suite("Trust over TLS", .timeLimit(.minutes(1))) struct TrustTests {
    /// A server with its certificate.
    private struct Site {
        let server: ScriptedServer
        let port: UInt16
        let certificate: [UInt8]

        static func start(
            hosts: [String] = ["localhost"],
            days: Int = 365
        ) async throws -> Site {
            let (certificate, key) = try DevelopmentCertificate.make(hosts: hosts, days: days)
            let context = try TLSContext.server([
                TLSCertificate(certificatePEM: certificate, keyPEM: key)
            ])
            let (server, port) = try await ScriptedServer.start(tls: context)
            return Site(server: server, port: port, certificate: certificate)
        }

        /// The reason a connection failed; `nil` if it succeeded.
        func fault(
            _ trust: ClientOptions.Trust,
            host: String = "localhost"
        ) async throws -> FanfareError? {
            var options = ClientOptions()
            options.network.trust = trust
            options.reconnection.attemptCountMax = 0
            let client = Fanfare(
                key: "app-key",
                endpoint: .secure(host: host, port: port),
                options: options
            )
            defer { client.disconnect() }
            client.connect()
            for await status in client.statuses() {
                if case .failed(let error) = status { return error }
                if status.isConnected { break }
            }
            return nil
        }

        /// Returns the reason a client does not trust the site.
        func distrust(
            _ trust: ClientOptions.Trust,
            host: String = "localhost"
        ) async throws -> String {
            let fault = try await fault(trust, host: host)
            guard let fault, fault.code == .untrusted, fault.message.contains("wss://\(host):")
            else {
                Issue.record("\(trust): \(String(describing: fault))")
                return ""
            }
            return fault.reason
        }
    }

    @Test func acceptsATrustedCertificateInEveryForm() async throws {
        let site = try await Site.start()
        let other = try DevelopmentCertificate.make(hosts: ["example.com"]).certificatePEM
        let der = try CertificateText.read(site.certificate, from: "")
        let folder = try Folder()
        let pemFile = try folder.write(other + site.certificate, to: "authorities.pem")
        let derFile = try folder.write(der[0], to: "authority.der")
        for trust: ClientOptions.Trust in [
            .pem(site.certificate),
            .certificates(der), .file(pemFile), .file(derFile), .insecure,
        ] {
            #expect(try await site.fault(trust) == nil, "\(trust)")
        }
        await site.server.stop()
    }

    @Test func refusesACertificateOfAnUnknownAuthority() async throws {
        let site = try await Site.start()
        let other = try DevelopmentCertificate.make(hosts: ["localhost"]).certificatePEM
        for trust: ClientOptions.Trust in [.system, .pem(other)] {
            #expect(try await site.distrust(trust).contains("certificate"))
        }
        await site.server.stop()
    }

    @Test func refusesAnotherHostsCertificateAndNamesTheHost() async throws {
        let site = try await Site.start(hosts: ["example.com"])
        for host in ["localhost", "127.0.0.1"] {
            let reason = try await site.distrust(.pem(site.certificate), host: host)
            #expect(reason.contains("mismatch") && reason.contains(host), "\(reason)")
        }
        await site.server.stop()
    }

    @Test func refusesACertificateThatHasExpired() async throws {
        let site = try await Site.start(days: -1)
        #expect(try await site.distrust(.pem(site.certificate)).contains("expired"))
        #expect(try await site.fault(.insecure) == nil)
        await site.server.stop()
    }

    @Test func reportsInvalidTrust() async throws {
        let site = try await Site.start()
        let folder = try Folder()
        let file = try folder.write(Array("nothing".utf8), to: "empty.pem")
        let cases: [(ClientOptions.Trust, [String])] = [
            (.pem("hello"), ["PEM text", "no certificate"]),
            (.file(folder.path + "/none.pem"), ["none.pem", "cannot be read"]),
            (.file(folder.path), ["cannot be read"]),
            (.file(file), ["empty.pem", "no certificate"]),
            (.certificates([]), ["empty"]),
            (.certificates([site.certificate]), ["certificate 1", "DER"]),
        ]
        for (trust, words) in cases {
            let reason = try await site.distrust(trust)
            for word in words { #expect(reason.contains(word), "\(reason)") }
        }
        await site.server.stop()
    }

    @Test func readsAFileAnewForEachConnection() async throws {
        let site = try await Site.start()
        let folder = try Folder()
        let file = try folder.write([], to: "authority.pem")
        #expect(try await site.distrust(.file(file)).contains("no certificate"))
        _ = try folder.write(site.certificate, to: "authority.pem")
        #expect(try await site.fault(.file(file)) == nil)
        await site.server.stop()
    }

    @Test func acceptsAPinnedKeyAlone() async throws {
        let site = try await Site.start()
        let other = try DevelopmentCertificate.make(hosts: ["localhost"]).certificatePEM
        let (own, spare) = (
            try KeyPin(certificate: site.certificate), try KeyPin(certificate: other)
        )
        let trusted = ClientOptions.Trust.pem(site.certificate)
        #expect(try await site.fault(trusted.pinned(to: [spare, own])) == nil)
        // Again, with a TLS session to resume.
        #expect(try await site.fault(trusted.pinned(to: [spare, own])) == nil)
        for _ in 0..<2 {
            let reason = try await site.distrust(trusted.pinned(to: [spare]))
            #expect(reason.contains("not pinned") && reason.contains(own.description), "\(reason)")
        }
        #expect(try await site.fault(trusted.pinned(to: [spare]).pinned(to: [])) == nil)
        // A pin does not replace the other checks …
        #expect(
            try await site.distrust(ClientOptions.Trust.system.pinned(to: [own])).contains(
                "certificate"
            )
        )
        #expect(
            try await site.distrust(trusted.pinned(to: [own]), host: "127.0.0.1").contains(
                "mismatch"
            )
        )
        // … and is the only check with `insecure`.
        #expect(try await site.fault(.insecure.pinned(to: [own]), host: "127.0.0.1") == nil)
        #expect(try await site.distrust(.insecure.pinned(to: [spare])).contains("not pinned"))
        await site.server.stop()
    }
}

/// A temporary folder, deleted with this value.
final class Folder {
    private let url = FileManager.default.temporaryDirectory
        .appendingPathComponent("fanfare-client-\(UUID().uuidString)")
    var path: String { url.path }

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file and returns its path.
    func write(_ bytes: [UInt8], to name: String) throws -> String {
        let file = url.appendingPathComponent(name)
        try Data(bytes).write(to: file)
        return file.path
    }
}

extension ClientOptions.Trust {
    /// Trusts certificates in PEM form, as bytes.
    static func pem(_ text: [UInt8]) -> Self { .pem(String(decoding: text, as: UTF8.self)) }
}
