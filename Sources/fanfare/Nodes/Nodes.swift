import ArgumentParser
import BrokerConfiguration
import Cluster
import CommandSupport
import FanfareServer
import Glibc

/// `fanfare nodes`: lists the nodes of a cluster.
struct Nodes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the nodes of a cluster.",
        discussion: """
            Queries Redis, so it works while nodes do not. Give the configuration of any node.

            A node is "serving"; "draining" while it stops; "isolated" when Redis has received no \
            heartbeat from it for 5 seconds; "lost" for ten minutes after other nodes have removed \
            what it had. HEARTBEAT is the time since the oldest of its last heartbeats. STORES is \
            the number of Redis servers that have received its heartbeats in time, and its last \
            round trip. APPS is a fingerprint of its apps; "!" marks one that differs from most.

            The exit code is 1 if a node is isolated, if a node's apps differ from most, or if a \
            server of the cluster cannot be queried.

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
                "The configuration is not of a cluster: cluster.engine is none. Name the file of a "
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
            Console.printError("fanfare: a server cannot be queried: \(failure)")
        }
        if listing.hasFaults { throw ExitCode.failure }
    }
}
