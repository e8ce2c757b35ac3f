/// Something that can be fuzzed, by the name that `make fuzz FUZZ=…` and the folders of seeds know it by.
public struct FuzzTarget: Sendable {
    /// Its name.
    public let name: String
    private let body: @Sendable ([UInt8]) throws(Finding) -> Void

    /// Names a function that states properties.
    ///
    /// - Parameters:
    ///   - name: The name of its folder of seeds.
    ///   - body: Tries one input, and throws the property that it disproves.
    public init(_ name: String, _ body: @escaping @Sendable ([UInt8]) throws(Finding) -> Void) {
        self.name = name
        self.body = body
    }

    /// Tries one input.
    ///
    /// - Parameter input: Any bytes; the comment at each body says how it reads them.
    /// - Throws: The property that the input disproves. What traps is a finding as well.
    public func run(_ input: [UInt8]) throws(Finding) { try body(input) }

    /// All that need no more than the protocols and the broker's values.
    public static let all = [
        FuzzTarget("frames", FrameFuzzing.run),
        FuzzTarget("inflate", InflateFuzzing.run),
        FuzzTarget("deflate", DeflateFuzzing.run),
        FuzzTarget("handshakes", HandshakeFuzzing.run),
        FuzzTarget("requests", RequestFuzzing.run),
        FuzzTarget("responses", ResponseFuzzing.run),
        FuzzTarget("json", JSONFuzzing.run),
        FuzzTarget("messages", MessageFuzzing.run),
        FuzzTarget("triggers", TriggerFuzzing.run),
        FuzzTarget("broker", BrokerFuzzing.run),
    ]
}
