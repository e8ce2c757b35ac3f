import BrokerConfiguration
import FanfareServer
import Foundation
import Glibc
import Net
import ServerLog
import Synchronization
import TestProgram
import Testing

@testable import fanfare

@Suite("A reload applies a configuration completely or not at all") struct ReloadingTests {
    /// The files of a certificate and its key.
    private struct Pair {
        let directory: TemporaryDirectory
        var files: CertificateFiles {
            CertificateFiles(certificate: directory.path("c.pem"), key: directory.path("k.pem"))
        }

        init() throws {
            directory = try TemporaryDirectory()
            let made = try DevelopmentCertificate.make(hosts: ["localhost"])
            try Data(made.certificatePEM).write(to: URL(filePath: files.certificate))
            try Data(made.keyPEM).write(to: URL(filePath: files.key))
        }
    }

    private func configuration(_ level: String, _ files: CertificateFiles) throws -> Configuration {
        let yaml = """
            listen: {port: none}
            tls:
              port: 0
              certificates: [{certificate: "\(files.certificate)", key: "\(files.key)"}]
            log: {level: \(level)}
            """
        return try Configuration.load(yaml: yaml, file: "test")
    }

    @Test("Certificates that become invalid during a reload leave log level and watch unchanged")
    func certificatesTurnBad() async throws {
        let (old, new) = (try Pair(), try Pair())
        let before = try configuration("error", old.files)
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        let log = QueuedLog(to: null, format: .json, level: before.log.level)
        defer { log.finish() }
        let server = try BrokerServer(configuration: before, log: log.logger(label: "test"))
        _ = try await server.start()
        let watched = Mutex<[[String]]>([])
        let reload = ConfigurationReload(server: server, log: log) { certificates in
            watched.withLock { $0.append(certificates.paths) }
        }

        // The files are valid when the configuration is read, and invalid when the broker applies it.
        let after = try configuration("debug", new.files)
        let key = try Data(contentsOf: URL(filePath: new.files.key))
        try Data("no key".utf8).write(to: URL(filePath: new.files.key))
        await reload.run { after }
        #expect(log.level == before.log.level)
        #expect(watched.withLock { $0 }.isEmpty)

        try key.write(to: URL(filePath: new.files.key))
        await reload.run { after }
        #expect(log.level == after.log.level)
        #expect(watched.withLock { $0 } == [[new.files.certificate, new.files.key]])
        await server.stop(within: .zero)
    }
}
