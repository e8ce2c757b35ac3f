import Glibc

/// The standard streams, unbuffered: each line can be read from a pipe as soon as it is written.
package enum Console {
    /// Writes a line to standard output.
    package static func print(_ line: String) { write(line, to: STDOUT_FILENO) }

    /// Writes a line to standard error.
    package static func printError(_ line: String) { write(line, to: STDERR_FILENO) }

    /// Whether a descriptor is a terminal and colours are not disabled (https://no-color.org).
    package static func supportsColor(_ descriptor: Int32) -> Bool {
        isatty(descriptor) == 1 && getenv("NO_COLOR") == nil
    }

    /// Reads standard input to its end.
    package static func readInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(STDIN_FILENO, &part, part.count)
            if count > 0 {
                bytes += part[..<count]
            } else if count == 0 || errno != EINTR {
                return bytes
            }
        }
    }

    private static func write(_ line: String, to descriptor: Int32) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                return  // The reader is gone; there is nowhere to report it.
            }
        }
    }
}

/// An error of a command, which says what to do; the exit code is 1.
package struct CommandError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
