/// What can be fuzzed, each by the name that `make fuzz FUZZ=…` and the folders of seeds know it by.
///
/// An input is any bytes; the comment at each body says how it reads them.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// Frames of a WebSocket, heard by either side.
    case frames
    /// Frames with permessage-deflate, and raw deflate streams.
    case inflate
    /// Messages that one side compresses and the other hears.
    case deflate
    /// A request for a WebSocket, or a server's answer to one.
    case handshakes
    /// Requests of HTTP/1.1.
    case requests
    /// Responses of HTTP/1.1.
    case responses
    /// One JSON text.
    case json
    /// What clients and broker say to each other.
    case messages
    /// The bodies and queries of the HTTP API, and the names in them.
    case triggers
    /// The configuration file.
    case configuration
    /// Operations on many connections of a broker.
    case broker

    /// Tries one input.
    ///
    /// - Parameter input: Any bytes.
    /// - Throws: The property that the input disproves. What traps is a finding as well.
    public func run(_ input: [UInt8]) throws(Finding) {
        switch self {
        case .frames: try FrameFuzzing.run(input)
        case .inflate: try InflateFuzzing.run(input)
        case .deflate: try DeflateFuzzing.run(input)
        case .handshakes: try HandshakeFuzzing.run(input)
        case .requests: try RequestFuzzing.run(input)
        case .responses: try ResponseFuzzing.run(input)
        case .json: try JSONFuzzing.run(input)
        case .messages: try MessageFuzzing.run(input)
        case .triggers: try TriggerFuzzing.run(input)
        case .configuration: try ConfigurationFuzzing.run(input)
        case .broker: try BrokerFuzzing.run(input)
        }
    }
}

/// A property that an input disproves.
public struct Finding: Error, CustomStringConvertible {
    /// What should have held, and what was there instead.
    public let description: String
}

/// Throws a finding unless `condition` holds.
func expect(
    _ condition: Bool,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard condition else { throw Finding(description: description()) }
}

/// Throws a finding unless both sides are the same.
func expectEqual<Value: Equatable>(
    _ left: Value,
    _ right: Value,
    _ description: @autoclosure () -> String
) throws(Finding) {
    guard left != right else { return }
    throw Finding(description: "\(description()): \(left) is not \(right)")
}
