import HTTP1
import Primitives

/// Where a fuzzing server listens, and what it is asked by the target of a request.
struct FuzzingServer: Sendable {
    /// Whether it is reached over TLS (`wss`).
    let isSecure: Bool
    /// A name or an address; an IPv6 address without brackets.
    let host: String
    let port: UInt16
    /// For the `Host` field, as the URL has it.
    let authority: String
    /// What stands before its own targets: empty, or a slash and more.
    let prefix: String

    /// Reads `ws://HOST[:PORT][/PREFIX]` or `wss://…`; nil for anything else.
    init?(_ url: String) {
        guard let mark = url.firstRange(of: "://") else { return nil }
        switch url[..<mark.lowerBound].lowercased() {
        case "ws": isSecure = false
        case "wss": isSecure = true
        default: return nil
        }
        let rest = url[mark.upperBound...]
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        var prefix = rest[slash...]
        while prefix.last == "/" { prefix.removeLast() }
        self.prefix = String(prefix)
        authority = String(rest[..<slash])

        var host = rest[..<slash]
        var port = isSecure ? UInt16(443) : 80
        // The colons of an IPv6 address are inside its brackets.
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            guard let number = UInt16(host[host.index(after: colon)...]) else { return nil }
            port = number
            host = host[..<colon]
        }
        if host.first == "[", host.last == "]" { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, !url.contains(where: { "?#@ ".contains($0) }) else { return nil }
        self.host = String(host)
        self.port = port
    }

    /// Answered with one message: how many cases there are.
    var caseCount: String { prefix + "/getCaseCount" }

    /// Answered with the case itself.
    ///
    /// - Parameters:
    ///   - number: From 1 to the case count.
    ///   - agent: The name under which the verdict is kept.
    /// - Returns: The request's target.
    func runCase(_ number: Int, agent: String) -> String {
        prefix + "/runCase?case=\(number)&agent=\(PercentEncoding.encode(agent))"
    }

    /// Lets the server write its report.
    ///
    /// - Parameter agent: Whose verdicts.
    /// - Returns: The request's target.
    func updateReports(agent: String) -> String {
        prefix + "/updateReports?agent=\(PercentEncoding.encode(agent))"
    }
}
