extension BrokerServer {
    /// The version of the broker: [Semantic Versioning](https://semver.org).
    public static let version = "0.1.0"
}
