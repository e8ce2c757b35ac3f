import Foundation

/// The lines that are typed, until the input ends.
enum TypedLines {
    static func make() -> AsyncStream<String> {
        let (lines, input) = AsyncStream.makeStream(of: String.self)
        // readLine blocks, so it has a thread of its own.
        Thread.detachNewThread {
            while let line = readLine() { input.yield(line) }
            input.finish()
        }
        return lines
    }
}
