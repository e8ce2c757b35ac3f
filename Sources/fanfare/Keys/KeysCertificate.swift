import ArgumentParser
import CommandSupport
import Glibc
import Net

/// `fanfare keys certificate`: makes a certificate for development.
struct KeysCertificate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certificate",
        abstract: "Make a certificate and its key for development.",
        discussion: """
            The certificate is self-signed: clients accept it only with an option such as --trust \
            or --insecure of "fanfare listen". In production use a certificate of a certificate \
            authority.

            Examples:
              fanfare keys certificate
              fanfare keys certificate --host broker.test --host 10.0.0.7
              fanfare serve --tls-port 6002 --tls-certificate certificate.pem --tls-key key.pem
            """
    )

    @Option(
        name: .customLong("host"),
        help: ArgumentHelp(
            "A host name or IP address of the certificate; may be repeated (default: localhost).",
            valueName: "host"
        )
    )
    var hosts: [String] = []

    @Option(help: "Days until the certificate expires, 1 to 825.")
    var days = 365

    @Option(help: ArgumentHelp("The certificate file to write.", valueName: "file"))
    var certificate = "certificate.pem"

    @Option(help: ArgumentHelp("The key file to write, readable only by you.", valueName: "file"))
    var key = "key.pem"

    @Flag(help: "Replace existing files.")
    var force = false

    func validate() throws {
        // Browsers accept at most 825 days.
        guard (1...825).contains(days) else { throw ValidationError("--days must be 1 to 825.") }
        guard certificate != key else {
            throw ValidationError("--certificate and --key must name two files.")
        }
    }

    func run() throws {
        let hosts = hosts.isEmpty ? ["localhost", "127.0.0.1", "::1"] : hosts
        let made: (certificatePEM: [UInt8], keyPEM: [UInt8])
        do {
            made = try DevelopmentCertificate.make(hosts: hosts, days: days)
        } catch {
            throw CommandError("The certificate cannot be created: \(error).")
        }
        // The key first: a certificate without a key is of no use.
        let keyFile = NewFile(path: key, mode: 0o600)
        let certificateFile = NewFile(path: certificate, mode: 0o644)
        if !force { try certificateFile.checkDoesNotExist() }
        try keyFile.write(made.keyPEM, overwrites: force)
        try certificateFile.write(made.certificatePEM, overwrites: force)
        Console.print(
            """
            \(certificate) is for \(hosts.joined(separator: ", ")) and valid for \(days) days; \
            \(key) is its key.
            Try: fanfare serve --tls-port 6002 --tls-certificate \(certificate) --tls-key \(key)
            """
        )
    }
}

/// A file that a command creates, and overwrites only on request.
struct NewFile {
    let path: String
    /// The permissions; `0o600` for a file that only its owner may read.
    let mode: mode_t

    /// Throws if the file exists.
    func checkDoesNotExist() throws(CommandError) {
        if access(path, F_OK) == 0 { throw alreadyExists }
    }

    /// Writes the file.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - overwrites: Whether an existing file is replaced.
    /// - Throws: ``CommandError`` if the file exists or cannot be written.
    func write(_ bytes: [UInt8], overwrites: Bool) throws(CommandError) {
        if overwrites, unlink(path) != 0, errno != ENOENT {
            throw systemError("cannot be replaced")
        }
        // O_EXCL: no file that was created meanwhile is overwritten, and no symbolic link is followed.
        let fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        if fd < 0, errno == EEXIST { throw alreadyExists }
        guard fd >= 0 else { throw systemError("cannot be created") }
        defer { close(fd) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw systemError("cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private var alreadyExists: CommandError {
        CommandError("\(path) already exists; choose another name, or add --force")
    }

    private func systemError(_ what: String) -> CommandError {
        CommandError("\(path) \(what): \(String(cString: strerror(errno)))")
    }
}
