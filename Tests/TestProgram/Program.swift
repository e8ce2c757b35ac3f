import Foundation
import Synchronization

/// Runs the built `fanfare` program as a separate process.
package struct Program {
    /// The result of a finished process.
    package struct Result: Sendable {
        package var code: Int32
        package var output: String
        package var errors: String
    }

    /// The package manager puts the program beside the test bundle.
    static let url = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "fanfare")

    /// The program's path.
    package static var path: String { url.path() }

    /// The environment of all programs: the settings of a sanitizer apply to them too.
    package static let inherited: [String: String] = {
        let names = ["LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS"]
        var values = ProcessInfo.processInfo.environment.filter { names.contains($0.key) }
        // Memory that a program has not freed at its end is not a leak.
        values["ASAN_OPTIONS"]?.append(":detect_leaks=0")
        return values
    }()

    /// Runs the program to its end, with only these variables and those of a sanitizer in its environment.
    package static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String = "",
        within limit: Duration = .seconds(30)
    ) async throws -> Result {
        let process = Process()
        process.executableURL = url
        process.arguments = arguments
        process.environment = inherited.merging(environment) { $1 }
        let (output, errors, standardInput) = (Pipe(), Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = standardInput
        try process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
        // A program that does not end is terminated, which the exit code shows.
        let watch = Task {
            try await Task.sleep(for: limit)
            process.terminate()
        }
        defer { watch.cancel() }
        async let outputText = text(of: output)
        async let errorText = text(of: errors)
        let (outputRead, errorsRead) = await (outputText, errorText)
        process.waitUntilExit()
        return Result(code: process.terminationStatus, output: outputRead, errors: errorsRead)
    }

    private static func text(of pipe: Pipe) async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var bytes = Data()
                while case let part = pipe.nextBytes(), !part.isEmpty { bytes += part }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
        }
    }
}

/// A directory that is removed at the end of the test.
package final class TemporaryDirectory: Sendable {
    let url = URL(filePath: NSTemporaryDirectory()).appending(
        path: "fanfare-\(UUID().uuidString)"
    )

    package init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// The path of a file in it.
    package func path(_ name: String) -> String { url.appending(path: name).path() }

    deinit { try? FileManager.default.removeItem(at: url) }
}

extension Pipe {
    /// Reads the next bytes; returns none at the end.
    ///
    /// Foundation's own reading crashes the process when a signal interrupts it.
    func nextBytes() -> Data {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(fileHandleForReading.fileDescriptor, &bytes, bytes.count)
            if count >= 0 { return Data(bytes[..<count]) }
            guard errno == EINTR else { return Data() }
        }
    }
}
