import BrokerConfiguration
import Foundation
import Net
import TestFiles
import Testing

@testable import FanfareServer

@Suite("Renewed certificates") struct CertificateReloadTests {
    private func write(_ bytes: [UInt8], to file: TemporaryFile) throws {
        try Data(bytes).write(to: URL(filePath: file.path))
    }

    @Test("Changed files are loaded, unchanged files are not")
    func renews() async throws {
        let pair = try TemporaryCertificate()
        var configuration = Configuration.development
        configuration.port = nil
        configuration.tlsPort = 0
        configuration.certificates = [
            .init(certificate: pair.certificate.path, key: pair.key.path)
        ]
        let server = try BrokerServer(configuration: configuration)
        _ = try await server.start()
        #expect(try await !server.reload(configuration).hasNewCertificates)
        let made = try DevelopmentCertificate.make(hosts: ["localhost"])
        try write(made.certificatePEM, to: pair.certificate)
        // Between the two writes certificate and key do not match.
        let error = await #expect(throws: ConfigurationError.self) {
            try await server.reload(configuration)
        }
        #expect(error?.description.contains("tls.certificates.0.key is not the key of") == true)
        try write(made.keyPEM, to: pair.key)
        let reload = try await server.reload(configuration)
        #expect(reload.hasNewCertificates && reload.restartKeys.isEmpty)
        #expect(try await !server.reload(configuration).hasNewCertificates)
        await server.stop(within: .seconds(1))
    }

    @Test("Certificates of a new listener take effect at the next start")
    func withoutAListener() async throws {
        let pair = try TemporaryCertificate()
        try await TestBroker.run { broker in
            var configuration = Configuration.development
            configuration.port = 0
            configuration.loops = 1
            configuration.tlsPort = 0
            configuration.certificates = [
                .init(certificate: pair.certificate.path, key: pair.key.path)
            ]
            let reload = try await broker.server.reload(configuration)
            #expect(!reload.hasNewCertificates)
            #expect(reload.restartKeys == ["tls.port"])
        }
    }
}
