#if os(Linux)
    import HTTP1

    /// The parser state of a response, without I/O.
    struct PendingAnswer {
        /// The result of a parser call.
        enum Progress {
            case needsMore
            /// The response is complete, with this content.
            case complete([UInt8])
            /// The status is known, and the rest is not needed.
            case cutOff
            case failed(HTTPFailure)
        }

        /// The head of the final response.
        private(set) var head: ResponseHead?
        /// Whether a byte of the response has arrived.
        private(set) var hasBegun = false
        /// Schedules the next read.
        var pace = AnswerPace()
        private var parser: ResponseParser
        /// The maximum length of the response, including head and interim responses; `nil` for none.
        private let lengthMax: Int?
        /// The bytes of the response that have been read.
        private var length = 0

        /// Creates the state before any request.
        init() {
            parser = ResponseParser()
            lengthMax = nil
        }

        /// Creates the state of a request's response.
        init(to exchange: Exchange) {
            let dropsContent = exchange.contentPeriod != nil
            lengthMax = dropsContent ? exchange.answerLengthMax : nil
            // If only the status matters, a large announced length is not an error.
            let bodyLengthMax = dropsContent ? Int.max : exchange.answerLengthMax
            parser = ResponseParser(limits: HTTPLimits(bodyLengthMax: bodyLengthMax))
            parser.expect(exchange.method)
        }

        /// Parses received bytes.
        ///
        /// - Parameters:
        ///   - bytes: The bytes that are not consumed yet.
        ///   - index: The index of the first byte to parse; set to the end of the consumed bytes.
        /// - Returns: The result; after any other than `.needsMore`, the function must not be called again.
        mutating func read(_ bytes: Span<UInt8>, _ index: inout Int) -> Progress {
            hasBegun = true
            let start = index
            let progress = advance(bytes, &index)
            length += index - start
            // The bytes not consumed are the beginning of a line.
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

        /// Handles the end of the connection.
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

        /// Returns the time for which the connection may be reused; `nil` if it must be closed.
        func idleTime(_ settings: ConnectionSettings) -> Duration? {
            // After 101 another protocol follows.
            guard let head, head.keepAlive, head.status != 101, head.status.code >= 200 else {
                return nil
            }
            guard let announced = head.field("Keep-Alive").flatMap(Self.timeout(in:)) else {
                return settings.idleTimeout
            }
            // One second less, so that no request coincides with the server's close.
            let time = min(settings.idleTimeout, .seconds(announced - 1))
            return time > .zero ? time : nil
        }

        /// The result, if the status is known and nothing else matters.
        private var statusAlone: Progress? { lengthMax != nil && head != nil ? .cutOff : nil }

        /// Parses the seconds of `timeout=5, max=100` (RFC 2068 §19.7.1.1, still in use).
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
