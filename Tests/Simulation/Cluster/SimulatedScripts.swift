package import Redis
package import RedisModel

/// The scripts of simulated servers: those of the nodes, with a shorter queue of webhooks and perhaps with a bug.
package enum SimulatedScripts {
    /// The scripts of the nodes.
    package static let ofNodes = ClusterScripts(isSharded: false).all
    private static let ofServers = ClusterScripts(isSharded: false, webhooksMax: 100).all

    /// What servers run, by the digests of the nodes' scripts.
    package static func edited(by edit: ScriptEdit? = nil) -> [String: ByteString] {
        Dictionary(
            uniqueKeysWithValues: zip(ofNodes, ofServers).map { ofNode, ofServer in
                (ofNode.digest, ByteString(edit?.apply(to: ofServer) ?? ofServer.source))
            }
        )
    }
}

/// A bug in scripts: other lines in the place of one.
package struct ScriptEdit: Sendable {
    /// The names of the scripts.
    let scripts: Set<String>
    /// The line, which each of the scripts has once.
    let line: String
    let replacement: String

    init(_ scripts: String..., replacing line: String, by replacement: String) {
        (self.scripts, self.line, self.replacement) = (Set(scripts), line, replacement)
    }

    /// The source of a script, with the bug if the script has it.
    func apply(to script: RedisScript) -> [UInt8] {
        guard scripts.contains(script.name) else { return script.source }
        var lines = String(decoding: script.source, as: UTF8.self).split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let places = lines.indices.filter { lines[$0] == line }
        precondition(places.count == 1, "\(script.name) has \(places.count) times: \(line)")
        lines[places[0]] = Substring(replacement)
        return Array(lines.joined(separator: "\n").utf8)
    }
}
