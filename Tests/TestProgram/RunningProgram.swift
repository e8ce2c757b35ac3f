import Foundation
import TestPorts

/// The running program, and the lines that it writes.
package final class RunningProgram: Sendable {
    private let process: Process
    /// The lines of standard output.
    package let output: Lines
    /// The lines of standard error.
    package let errors: Lines

    /// Starts the program with an empty environment.
    package init(_ arguments: [String]) throws {
        process = Process()
        process.executableURL = Program.url
        process.arguments = arguments
        process.environment = Program.inherited
        let (outputPipe, errorPipe) = (Pipe(), Pipe())
        process.standardOutput = outputPipe
        process.standardError = errorPipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        output = Lines(of: outputPipe)
        errors = Lines(of: errorPipe)
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// The process ID.
    package var id: Int32 { process.processIdentifier }

    /// Sends a signal.
    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for the end; returns the exit code, or the negative number of the signal that ended it.
    package func end() async -> Int32 {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [process] in
                process.waitUntilExit()
                let isSignal = process.terminationReason == .uncaughtSignal
                continuation.resume(
                    returning: isSignal ? -process.terminationStatus : process.terminationStatus
                )
            }
        }
    }

    /// The lines of a pipe, each as soon as it is complete.
    package struct Lines: AsyncSequence, Sendable {
        private let lines: AsyncStream<String>

        init(of pipe: Pipe) {
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            self.lines = lines
            Thread.detachNewThread {
                var rest = Data()
                while case let part = pipe.nextBytes(), !part.isEmpty {
                    rest += part
                    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                        continuation.yield(String(decoding: rest[..<end], as: UTF8.self))
                        rest = Data(rest[(end + 1)...])
                    }
                }
                continuation.finish()
            }
        }

        package func makeAsyncIterator() -> AsyncStream<String>.Iterator {
            lines.makeAsyncIterator()
        }

        /// Waits for a line that contains a text; `nil` if there is none before the end.
        package func first(containing text: String) async -> String? {
            await first { $0.contains(text) }
        }

        /// Waits for the end; returns the remaining lines.
        package func rest() async -> [String] { await reduce(into: []) { $0.append($1) } }
    }
}

/// `fanfare serve` on a free port, during a test.
package struct RunningBroker {
    package let program: RunningProgram
    /// The line that says that the broker is ready.
    package let readyLine: String

    /// Starts a broker and waits until it is ready.
    package init(_ arguments: [String] = []) async throws {
        program = try RunningProgram(
            ["serve", "--port", "\(freePort())", "--loops", "2"] + arguments
        )
        guard let line = await program.output.first(containing: "ready on") else {
            throw Failure(errors: await program.errors.rest())
        }
        readyLine = line
    }

    /// The URL for HTTP of the address with a scheme, as `http://127.0.0.1:40043` for `ws`.
    package func url(_ scheme: String = "ws") -> String {
        let word = readyLine.split(separator: " ").first { $0.hasPrefix("\(scheme)://") }
        let isSecure = scheme == "wss"
        return (isSecure ? "https" : "http") + (word?.dropFirst(scheme.count) ?? "")
    }

    package struct Failure: Error { let errors: [String] }
}
