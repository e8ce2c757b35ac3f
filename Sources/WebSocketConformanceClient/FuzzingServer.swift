import HTTP1
import Primitives

/// The address of a fuzzing server, and the targets of its requests.
struct FuzzingServer: Sendable {
    /// Whether to use TLS (`wss`).
    let isSecure: Bool
    /// The host name or address; an IPv6 address without brackets.
    let host: String
    let port: UInt16
    /// The value of the `Host` field, as in the URL.
    let authority: String
    /// The prefix of all targets: empty, or a path that begins with a slash.
    let prefix: String

    /// Parses `ws://HOST[:PORT][/PREFIX]` or `wss://…`; nil for anything else.
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

    /// The target that is answered with one message, the number of cases.
    var caseCount: String { prefix + "/getCaseCount" }

    /// Returns the target that runs a case.
    ///
    /// - Parameters:
    ///   - number: From 1 to the case count.
    ///   - agent: The client's name in the report.
    /// - Returns: The request's target.
    func runCase(_ number: Int, agent: String) -> String {
        prefix + "/runCase?case=\(number)&agent=\(PercentEncoding.encode(agent))"
    }

    /// Returns the target that makes the server write its report.
    ///
    /// - Parameter agent: The client's name in the report.
    /// - Returns: The request's target.
    func updateReports(agent: String) -> String {
        prefix + "/updateReports?agent=\(PercentEncoding.encode(agent))"
    }
}
