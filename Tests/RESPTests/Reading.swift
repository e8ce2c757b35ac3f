import RESP
import TestRedis

/// The values in a stream that arrives in pieces, the first error, and the number of bytes that are left.
struct Reading: Equatable {
    var values: [Value] = []
    var error: RESPError?
    var left = 0

    init(_ pieces: [[UInt8]], limits: RESPLimits = .init()) {
        var parser = RESPParser(limits: limits)
        var kept: [UInt8] = []
        for piece in pieces {
            kept += piece
            var index = 0
            do throws(RESPError) {
                while true {
                    var value = Value.null
                    let isComplete = try parser.next(in: kept.span, from: &index) {
                        value = Value($0)
                    }
                    guard isComplete else { break }
                    values.append(value)
                }
            } catch {
                self.error = error
                return
            }
            kept.removeFirst(index)
        }
        left = kept.count
    }

    /// Reads a text in one piece.
    init(_ text: String, limits: RESPLimits = .init()) {
        self.init([Array(text.utf8)], limits: limits)
    }

    /// Reads a text whole, byte by byte, and cut once at each place; returns the readings that differ from the first.
    static func differences(_ text: String, limits: RESPLimits = .init()) -> [Reading] {
        let bytes = Array(text.utf8)
        let whole = Reading([bytes], limits: limits)
        var others = [Reading(bytes.map { [$0] }, limits: limits)]
        for cut in 0...bytes.count {
            let pieces = [Array(bytes[..<cut]), Array(bytes[cut...])]
            others.append(Reading(pieces, limits: limits))
        }
        return others.filter { $0 != whole }
    }
}

/// Parses one complete value and passes it to `body`.
func withView(_ text: String, _ body: (borrowing RESPView) -> Void) throws {
    var parser = RESPParser()
    var index = 0
    let bytes = Array(text.utf8)
    let isComplete = try parser.next(in: bytes.span, from: &index, body)
    precondition(isComplete && index == bytes.count, "no single value: \(text)")
}
