import Foundation
import Glibc

/// A Redis server that listens on a socket in a temporary folder, and stops with this object.
package final class RedisProcess {
    /// The folder, which is removed at the end.
    private let folder: URL
    private var process: ChildProcess?

    /// Why no server could be started.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Starts a server without persistence.
    ///
    /// - Parameters:
    ///   - arguments: Further options, such as `["--maxmemory", "1mb"]`.
    ///   - name: `redis-server`, or `redis-sentinel`, which needs `sentinel.conf` among the files.
    ///   - files: Files to write into the folder first, by name.
    /// - Throws: A `Failure` if the program is not installed, or does not listen within 20 s.
    package init(
        _ arguments: [String] = [],
        as name: String = "redis-server",
        files: [String: [UInt8]] = [:]
    ) throws {
        folder = URL(filePath: NSTemporaryDirectory()).appending(
            path: "fr-\(UUID().uuidString.prefix(8))"
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, bytes) in files {
            try Data(bytes).write(to: folder.appending(path: name))
        }
        try start(try Self.program(name, in: folder), arguments)
    }

    /// The path of a file in the folder.
    package func path(_ name: String) -> String { folder.appending(path: name).path() }

    /// The path of the server's socket.
    package var socket: String { path("redis.sock") }

    /// Finds the program.
    ///
    /// Debian's redis-tools contains it under the name of another of its uses; the package redis-server only adds a link
    /// and a system service, which no test needs.
    private static func program(_ name: String, in folder: URL) throws -> URL {
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
        for place in folders.split(separator: ":") {
            let file = URL(filePath: String(place)).appending(path: name)
            if FileManager.default.isExecutableFile(atPath: file.path()) { return file }
        }
        let shared = "/usr/bin/redis-check-rdb"
        guard FileManager.default.isExecutableFile(atPath: shared) else {
            throw Failure(
                description: "\(name) is missing: config/scripts/install.sh test installs it"
            )
        }
        let link = folder.appending(path: name)
        try FileManager.default.createSymbolicLink(
            at: link,
            withDestinationURL: URL(filePath: shared)
        )
        return link
    }

    private func start(_ program: URL, _ arguments: [String]) throws {
        // The shell ends the server as soon as this process has ended, however it ends.
        let script = "\"$@\" & cat > /dev/null; kill -KILL $!; wait"
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", script, "sh", program.path()]
                + (program.lastPathComponent == "redis-sentinel" ? [path("sentinel.conf")] : [])
                + [
                    "--port", "0", "--unixsocket", socket, "--dir", folder.path(),
                    "--save", "", "--logfile", path("log"),
                ] + arguments,
            // Without the libraries that a sanitizer preloads.
            environment: [
                "PATH=\(ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin")"
            ]
        )
        self.process = process
        let deadline = ContinuousClock.now + .seconds(20)
        while !isListening {
            guard ContinuousClock.now < deadline, process.isRunning else {
                let log =
                    (try? String(contentsOf: URL(filePath: path("log")), encoding: .utf8)) ?? ""
                throw Failure(description: "the server does not start:\n\(log)")
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    private var isListening: Bool {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: socket.utf8) }
        return withUnsafePointer(to: &name) { name in
            name.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }

    /// Ends the server at once.
    package func stop() {
        process?.end()
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }
}
