import HTTP1

/// What a peer's bytes came to, in a form that can be compared.
enum Event: Equatable {
    case request(String)
    case content([UInt8])
    case refused(HTTPError)
    case interim(Int)
    case response(Int)
    case truncated
}

/// Cuts `bytes` behind each of `lengths`, then once at the end.
func pieces(_ bytes: [UInt8], cutAt places: [Int]) -> [[UInt8]] {
    var start = 0
    return (places + [bytes.count]).map { end in
        defer { start = end }
        return Array(bytes[start..<end])
    }
}

/// Feeds a request parser as a connection would: what is not consumed comes again.
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

/// The bytes of a text, each line of which ends in CRLF.
func lines(_ lines: String...) -> [UInt8] { lines.flatMap { Array(($0 + "\r\n").utf8) } }

/// The head of a request that consists of these lines, read whole.
func head(_ text: String..., limits: HTTPLimits = HTTPLimits()) throws(HTTPError) -> RequestHead {
    let bytes = text.flatMap { Array(($0 + "\r\n").utf8) } + Array("\r\n".utf8)
    var parser = RequestParser(limits: limits)
    var index = 0
    guard case .head(let head) = try parser.advance(over: bytes.span, from: &index) else {
        throw .requestLineMalformed
    }
    return head
}
