/// A fuzz target, with the name used by `make fuzz FUZZ=…` and the folders of seeds.
public struct FuzzTarget: Sendable {
    /// The name.
    public let name: String
    private let body: @Sendable ([UInt8]) throws(Finding) -> Void

    /// Creates a target.
    ///
    /// - Parameters:
    ///   - name: The name of its folder of seeds.
    ///   - body: Runs one input, and throws the violated property.
    public init(_ name: String, _ body: @escaping @Sendable ([UInt8]) throws(Finding) -> Void) {
        self.name = name
        self.body = body
    }

    /// Runs one input.
    ///
    /// - Parameter input: Any bytes; the comment of each target describes their meaning.
    /// - Throws: The violated property. A trap is a finding as well.
    public func run(_ input: [UInt8]) throws(Finding) { try body(input) }

    /// All targets that need no more than the protocols and the broker's values.
    public static let all = [
        FuzzTarget("frames", FrameFuzzing.run),
        FuzzTarget("inflate", InflateFuzzing.run),
        FuzzTarget("deflate", DeflateFuzzing.run),
        FuzzTarget("handshakes", HandshakeFuzzing.run),
        FuzzTarget("requests", RequestFuzzing.run),
        FuzzTarget("responses", ResponseFuzzing.run),
        FuzzTarget("replies", ReplyFuzzing.run),
        FuzzTarget("json", JSONFuzzing.run),
        FuzzTarget("messages", MessageFuzzing.run),
        FuzzTarget("triggers", TriggerFuzzing.run),
        FuzzTarget("broker", BrokerFuzzing.run),
    ]
}
