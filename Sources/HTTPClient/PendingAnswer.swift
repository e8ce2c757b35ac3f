#if os(Linux)
    import HTTP1

    /// An answer as far as it has come, without I/O.
    struct PendingAnswer {
        /// What reading on has led to.
        enum Progress {
            case needsMore
            /// The answer is whole, with this content.
            case complete([UInt8])
            /// The status is known, which alone matters, and the rest is of no use.
            case cutOff
            case failed(HTTPFailure)
        }

        /// The head of the final answer.
        private(set) var head: ResponseHead?
        /// Whether a byte of the answer has come.
        private(set) var hasBegun = false
        /// How soon the connection is read again.
        var pace = AnswerPace()
        private var parser: ResponseParser
        /// The longest answer, its head and interim answers included; `nil` for no such limit.
        private let lengthMax: Int?
        /// The bytes of the answer that have been read.
        private var length = 0

        /// An answer to no request.
        init() {
            parser = ResponseParser()
            lengthMax = nil
        }

        /// The answer to a request.
        init(to exchange: Exchange) {
            let dropsContent = exchange.contentPeriod != nil
            lengthMax = dropsContent ? exchange.answerLengthMax : nil
            // Where the status alone matters, no length that is announced makes it worthless.
            let bodyLengthMax = dropsContent ? Int.max : exchange.answerLengthMax
            parser = ResponseParser(limits: HTTPLimits(bodyLengthMax: bodyLengthMax))
            parser.expect(exchange.method)
        }

        /// Reads on.
        ///
        /// - Parameters:
        ///   - bytes: What has come and was not consumed.
        ///   - index: Where to read on; left behind what was consumed.
        /// - Returns: What that has led to; never called again once it is not `.needsMore`.
        mutating func read(_ bytes: Span<UInt8>, _ index: inout Int) -> Progress {
            hasBegun = true
            let start = index
            let progress = advance(bytes, &index)
            length += index - start
            // What is not consumed is the beginning of a line.
            guard case .needsMore = progress, let lengthMax,
                length + bytes.count - index > lengthMax
            else { return progress }
            return statusAlone ?? .failed(.answerTooLong(lengthMax: lengthMax))
        }

        private mutating func advance(_ bytes: Span<UInt8>, _ index: inout Int) -> Progress {
            do throws(HTTPError) {
                while true {
                    switch try parser.advance(over: bytes, from: &index) {
                    case .needsMore: return .needsMore
                    case .interim: continue
                    case .head(let head): self.head = head
                    case .content(let content): return .complete(content.copy(from: bytes))
                    }
                }
            } catch {
                return statusAlone ?? .failed(Self.failure(error))
            }
        }

        /// The server has ended the connection.
        mutating func end() -> Progress {
            guard head != nil else {
                return hasBegun ? .failed(.connectionLost("the answer was cut off")) : .needsMore
            }
            do throws(HTTPError) {
                guard let content = try parser.finish() else { return .needsMore }
                return .complete(content.copy(from: [UInt8]().span))
            } catch {
                return statusAlone ?? .failed(Self.failure(error))
            }
        }

        /// How long the connection may be kept for another request.
        ///
        /// - Parameter settings: What the client wants.
        /// - Returns: The time, or `nil` if it may not be kept.
        func idleTime(_ settings: ConnectionSettings) -> Duration? {
            // Behind 101 comes another protocol.
            guard let head, head.keepAlive, head.status != 101, head.status.code >= 200 else {
                return nil
            }
            guard let announced = head.field("Keep-Alive").flatMap(Self.timeout(in:)) else {
                return settings.idleTimeout
            }
            // A second earlier, so that no request meets the server's end on its way.
            let time = min(settings.idleTimeout, .seconds(announced - 1))
            return time > .zero ? time : nil
        }

        /// The answer, where the status is known and alone matters.
        private var statusAlone: Progress? { lengthMax != nil && head != nil ? .cutOff : nil }

        /// The seconds of `timeout=5, max=100` (RFC 2068 §19.7.1.1, as servers still write it).
        private static func timeout(in field: String) -> Int? {
            for parameter in field.split(separator: ",") {
                let parts = parameter.split(separator: "=", maxSplits: 1)
                guard parts.count == 2, parts[0].filter({ $0 != " " }).lowercased() == "timeout"
                else { continue }
                return UInt32(parts[1].filter { $0 != " " }).map(Int.init)
            }
            return nil
        }

        private static func failure(_ error: HTTPError) -> HTTPFailure {
            switch error {
            case .contentTooLong(_, let limit): .answerTooLong(lengthMax: limit)
            case .responseTruncated: .connectionLost("the answer was cut off")
            default: .unexpectedAnswer("\(error)")
            }
        }
    }
#endif
