import Foundation
import Synchronization

/// The program as it was built, run as a process of its own.
package struct Program {
    /// What a finished process left.
    package struct Result: Sendable {
        package var code: Int32
        package var output: String
        package var errors: String
    }

    /// Beside the test bundle, where the package manager puts every product.
    static let url = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appending(path: "fanfare")

    /// What every program is given: where the tests run under a sanitizer, that holds for their programs too.
    package static let inherited: [String: String] = {
        let names = ["LD_PRELOAD", "TSAN_OPTIONS", "ASAN_OPTIONS"]
        var values = ProcessInfo.processInfo.environment.filter { names.contains($0.key) }
        // What a program has when it ends, ends with it: leaks are looked for in processes that go on.
        values["ASAN_OPTIONS"]?.append(":detect_leaks=0")
        return values
    }()

    /// Runs the program to its end, with `arguments` behind its name and nothing else in its environment.
    package static func run(
        _ arguments: [String],
        environment: [String: String] = [:],
        input: String = ""
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
        // What should have ended by itself is ended, and the test sees it by the code.
        let watch = Task {
            try await Task.sleep(for: .seconds(30))
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

/// A directory that ends with the test.
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
    /// The bytes that come next; none at the end.
    ///
    /// Foundation's own reading ends the whole process when a signal comes between.
    func nextBytes() -> Data {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(fileHandleForReading.fileDescriptor, &bytes, bytes.count)
            if count >= 0 { return Data(bytes[..<count]) }
            guard errno == EINTR else { return Data() }
        }
    }
}
