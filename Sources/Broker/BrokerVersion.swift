/// The version of the broker and of its program: [Semantic Versioning](https://semver.org).
///
/// `fanfare --version`, the ready line, `GET /health`, the response field `Fanfare-Version` and the metric
/// `fanfare_build_info` show it.
public enum BrokerVersion {
    /// The version.
    public static let current = "0.1.0"
}
