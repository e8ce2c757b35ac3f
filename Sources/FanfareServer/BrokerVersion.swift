extension BrokerServer {
    /// The version of the broker and of the program: [Semantic Versioning](https://semver.org).
    ///
    /// `fanfare --version`, the ready line, `GET /health`, the field `Fanfare-Version` of answers and the metric
    /// `fanfare_build_info` have it from here.
    public static let version = "0.1.0"
}
