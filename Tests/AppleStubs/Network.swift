// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

public import FoundationNetworking

public enum NWEndpoint: Sendable {
    public struct Host: Sendable, ExpressibleByStringLiteral {
        public init(_ string: String) {}
        public init(stringLiteral string: String) {}
    }
    public struct Port: Sendable, ExpressibleByIntegerLiteral {
        public init(integerLiteral value: UInt16) {}
    }
    case hostPort(host: Host, port: Port)
}

public struct ProxyConfiguration: Sendable {
    public init(httpCONNECTProxy proxyEndpoint: NWEndpoint, tlsOptions: Never? = nil) {}
    public var allowFailover = true
    public mutating func applyCredential(username: String, password: String) {}
}

// Part of Foundation on Apple platforms.
extension URLSessionConfiguration {
    public var proxyConfigurations: [ProxyConfiguration] { get { [] } set {} }
}

public final class NWPathMonitor: @unchecked Sendable {
    public init() {}
    public var pathUpdateHandler: (@Sendable (NWPath) -> Void)?
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}

public struct NWPath: Sendable {}

public import Dispatch
