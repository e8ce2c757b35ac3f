import Glibc

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

    /// Runs one input of libFuzzer, and ends the process when it violates a property.
    ///
    /// - Parameters:
    ///   - start: The first byte.
    ///   - count: The number of bytes.
    public func runOrTrap(_ start: UnsafePointer<UInt8>?, _ count: Int) {
        do throws(Finding) {
            try run(Array(UnsafeBufferPointer(start: start, count: count)))
        } catch {
            fatalError("\(error)")
        }
    }

    /// The target given by `--target=NAME`: libFuzzer ignores arguments that begin with two dashes.
    ///
    /// - Parameter targets: Those of the program; without one of their names the process ends.
    /// - Returns: The target.
    public static func chosen(among targets: [FuzzTarget]) -> FuzzTarget {
        let option = "--target="
        let names = CommandLine.arguments.filter { $0.hasPrefix(option) }.map {
            $0.dropFirst(option.count)
        }
        if let target = targets.first(where: { $0.name[...] == names.last }) { return target }
        print("Set the target: \(option) and one of \(targets.map(\.name))")
        exit(64)
    }

    /// All targets that need no more than the protocols and the broker's values.
    public static let all = [
        FuzzTarget("frames", FrameFuzzing.run),
        FuzzTarget("inflate", InflateFuzzing.run),
        FuzzTarget("deflate", DeflateFuzzing.run),
        FuzzTarget("handshakes", HandshakeFuzzing.run),
        FuzzTarget("requests", RequestFuzzing.run),
        FuzzTarget("responses", ResponseFuzzing.run),
        FuzzTarget("replies", ReplyFuzzing.run),
        FuzzTarget("scripts", ScriptFuzzing.run),
        FuzzTarget("json", JSONFuzzing.run),
        FuzzTarget("messages", MessageFuzzing.run),
        FuzzTarget("triggers", TriggerFuzzing.run),
        FuzzTarget("broker", BrokerFuzzing.run),
    ]
}
