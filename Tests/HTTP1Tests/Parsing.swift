import HTTP1

/// The result of parsing a peer's bytes, in a comparable form.
enum Event: Equatable {
    case request(String)
    case content([UInt8])
    case refused(HTTPError)
    case interim(Int)
    case response(Int)
    case truncated
}

/// Splits `bytes` after each of `lengths`, and once at the end.
func pieces(_ bytes: [UInt8], cutAt places: [Int]) -> [[UInt8]] {
    var start = 0
    return (places + [bytes.count]).map { end in
        defer { start = end }
        return Array(bytes[start..<end])
    }
}

/// Feeds a request parser as a connection does: unconsumed bytes are passed again.
func requests(_ pieces: [[UInt8]], limits: HTTPLimits = HTTPLimits()) -> [Event] {
    var parser = RequestParser(limits: limits)
    var events: [Event] = []
    var kept: [UInt8] = []
    for piece in pieces {
        kept += piece
        var index = 0
        do throws(HTTPError) {
            reading: while true {
                switch try parser.advance(over: kept.span, from: &index) {
                case .needsMore: break reading
                case .head(let head): events.append(.request("\(head.method) \(head.target)"))
                case .content(let content):
                    events.append(
                        .content(
                            content.withBytes(in: kept.span) { span in
                                span.withUnsafeBufferPointer { [UInt8]($0) }
                            }
                        )
                    )
                }
            }
        } catch {
            events.append(.refused(error))
            return events
        }
        kept.removeFirst(index)
    }
    return events
}

/// Feeds a response parser, then ends the connection.
func responses(
    _ pieces: [[UInt8]],
    to methods: [Method] = [],
    limits: HTTPLimits = HTTPLimits()
) -> [Event] {
    var parser = ResponseParser(limits: limits)
    for method in methods { parser.expect(method) }
    var events: [Event] = []
    var kept: [UInt8] = []
    do throws(HTTPError) {
        for piece in pieces {
            kept += piece
            var index = 0
            reading: while true {
                switch try parser.advance(over: kept.span, from: &index) {
                case .needsMore: break reading
                case .interim(let head): events.append(.interim(head.status.code))
                case .head(let head): events.append(.response(head.status.code))
                case .content(let content): events.append(.content(content.copy(from: kept.span)))
                }
            }
            kept.removeFirst(index)
        }
        if let content = try parser.finish() {
            events.append(.content(content.copy(from: kept.span)))
        }
    } catch {
        events.append(.refused(error))
    }
    return events
}

/// Returns the bytes of lines that end in CRLF.
func lines(_ lines: String...) -> [UInt8] { lines.flatMap { Array(($0 + "\r\n").utf8) } }

/// Parses the head of a request with these lines.
func head(_ text: String..., limits: HTTPLimits = HTTPLimits()) throws(HTTPError) -> RequestHead {
    let bytes = text.flatMap { Array(($0 + "\r\n").utf8) } + Array("\r\n".utf8)
    var parser = RequestParser(limits: limits)
    var index = 0
    guard case .head(let head) = try parser.advance(over: bytes.span, from: &index) else {
        throw .requestLineMalformed
    }
    return head
}
