import ArgumentParser
import BrokerConfiguration
import CommandSupport
import FanfareServer
import Glibc

/// `fanfare nodes`: lists the nodes of a cluster.
struct Nodes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the nodes of a cluster.",
        discussion: """
            Asks Redis itself, so it works while nodes do not. The configuration is that of any node.

            A node is "serving"; "draining" while it stops; "isolated" when Redis has not heard of it \
            for 5 seconds; "lost" when other nodes have removed what it had, for ten minutes. \
            HEARTBEAT is the time since the oldest of its last heartbeats, STORES the number of Redis \
            servers that have heard of it in time, and its last round trip. APPS is a fingerprint of \
            its apps; one that differs from most nodes' is marked with "!".

            The exit code is 1 if a node is isolated, has other apps than most, or a server of the \
            cluster cannot be asked.

            Examples:
              fanfare nodes --config fanfare.yaml
              fanfare nodes --json | jq 'select(.state == "isolated").name'
              watch fanfare nodes --config fanfare.yaml
            """
    )

    @OptionGroup var source: ConfigurationSource

    @Flag(help: "Print each node as one line of JSON.")
    var json = false

    func run() async throws {
        let configuration = try source.load(sections: ["cluster"])
        guard configuration.cluster.engine != nil else {
            throw CommandError(
                "The configuration is of a broker alone: cluster.engine is none. Name the file of a "
                    + "node with --config"
            )
        }
        let listing: NodeListing
        do {
            listing = try await ClusterInspector(configuration.cluster).nodes()
        } catch {
            throw CommandError("The nodes cannot be listed: \(error)")
        }
        let text = NodesText(listing, isColored: Console.supportsColor(STDOUT_FILENO))
        for line in json ? text.json : text.table { Console.print(line) }
        for failure in listing.failures {
            Console.printError("fanfare: a server cannot be asked: \(failure)")
        }
        if listing.hasFaults { throw ExitCode.failure }
    }
}
