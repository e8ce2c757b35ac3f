import ArgumentParser
import Simulation

/// The longest turn of a node with many channels, by what happens.
struct Walks: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Measure the turns of a cluster's node with many channels, by what happens.",
        discussion: """
            Prints the CPU time of the longest turn and of 99 % of them: events wait for no longer. Redis is a model in \\
            the same process, whose time does not count.
            """
    )

    @Option(help: "The number of channels.")
    var channels = 100_000

    func run() throws {
        let node = try CrowdedNode()
        print(padded("\(channels) channels", to: 34) + "  longest, ms      p99, ms")
        try report("subscriptions", of: node) {
            for start in stride(from: 0, to: channels, by: 5_000) {
                try node.subscribe(to: start..<min(start + 5_000, channels))
            }
        }
        try report("nothing, 20 s", of: node) { try pass(20_000, node) }
        try report("a list of all channels", of: node) { try node.list() }
        try report("Redis is lost, and back", of: node) {
            node.loseRedis()
            try pass(5_000, node)
        }
        try report("all clients leave, 15 s", of: node) {
            node.closeClients()
            try pass(15_000, node)
        }
    }

    private func pass(_ milliseconds: Int, _ node: CrowdedNode) throws {
        for _ in 0..<milliseconds { try node.step() }
    }

    private func report(_ name: String, of node: CrowdedNode, _ body: () throws -> Void) throws {
        node.beginMeasurement()
        try body()
        let turns = node.turns.sorted()
        let figures = [turns[turns.count - 1], turns[turns.count * 99 / 100]]
        print(
            padded(name, to: 34)
                + figures.map { padded("\(($0 * 100).rounded() / 100)", to: 13, left: true) }
                .joined()
        )
    }
}
