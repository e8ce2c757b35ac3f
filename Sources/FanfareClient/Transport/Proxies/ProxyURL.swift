import HTTPClient
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Parses the URL of a proxy.
///
/// Errors do not contain the password.
enum ProxyURL {
    static func read(_ url: String, called name: String) throws(InvalidOption) -> ProxyAddress {
        var rest = url[...]
        if let mark = url.firstRange(of: "://") {
            let scheme = url[..<mark.lowerBound].lowercased()
            guard scheme == "http" else {
                throw InvalidOption(
                    """
                    \(name) begins with \(scheme): only plain HTTP to the proxy is supported; write \
                    http://HOST:PORT
                    """
                )
            }
            rest = url[mark.upperBound...]
        }
        if let slash = rest.firstIndex(of: "/") {
            guard rest[slash...] == "/" else { throw malformed(name, "has a path") }
            rest = rest[..<slash]
        }
        var user: String?
        var password = ""
        if let at = rest.lastIndex(of: "@") {
            (user, password) = try readLogin(rest[..<at], name)
            rest = rest[rest.index(after: at)...]
        }
        guard let (host, port) = Endpoint.authority(rest), isHost(host) else {
            throw malformed(name, "has no valid host and port: \"\(rest)\"")
        }
        return ProxyAddress(host: host, port: port ?? 80, user: user, password: password)
    }

    private static func readLogin(
        _ text: Substring,
        _ name: String
    ) throws(InvalidOption) -> (user: String, password: String) {
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        guard let user = PercentEncoding.decode(text[..<colon]),
            let password = PercentEncoding.decode(text[colon...].dropFirst()), !user.isEmpty
        else {
            throw malformed(name, "has a user or password that is not percent-encoded")
        }
        return (user, password)
    }

    private static func malformed(_ name: String, _ fault: String) -> InvalidOption {
        InvalidOption("\(name) \(fault); write http://HOST:PORT or http://USER:PASSWORD@HOST:PORT")
    }

    private static func isHost(_ host: String) -> Bool {
        host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"?#[]\\".utf8.contains($0) }
    }
}

extension ClientOptions.Proxy {
    /// Resolves the route to an endpoint; reads the environment for ``ClientOptions/Proxy/environment``.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint.
    ///   - environment: Returns the value of a variable.
    /// - Returns: The route.
    /// - Throws: The invalid variable and the reason.
    func resolved(
        for endpoint: Endpoint,
        environment: (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
    ) throws(InvalidOption) -> HTTPRoute {
        switch kind {
        case .system: return .system
        case .none: return .direct
        case .address(let proxy): return .proxy(proxy)
        case .environment: break
        }
        // Not HTTP_PROXY: CGI servers set it from a request's `Proxy` field.
        let names = endpoint.isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        for name in names {
            guard let url = environment(name), !url.isEmpty else { continue }
            let exceptions = environment("no_proxy") ?? environment("NO_PROXY") ?? ""
            if Self.isException(endpoint, exceptions) { return .direct }
            return .proxy(try ProxyURL.read(url, called: "the environment's \(name)"))
        }
        return .direct
    }

    private static func isException(_ endpoint: Endpoint, _ list: String) -> Bool {
        let host = endpoint.host.lowercased()
        return list.split(whereSeparator: { $0 == "," || $0.isWhitespace }).contains { entry in
            if entry == "*" { return true }
            guard entry != endpoint.host,
                let (name, port) = Endpoint.authority(Substring(entry.lowercased()))
            else { return entry == endpoint.host }
            guard port == nil || port == endpoint.port else { return false }
            let domain = name.first == "." ? String(name.dropFirst()) : name
            return host == domain || host.hasSuffix("." + domain)
        }
    }
}
