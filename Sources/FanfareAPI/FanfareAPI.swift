import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A broker's HTTP API, for the backend of an app.
///
///     let api = try FanfareAPI(
///         appID: "1", key: "app-key", secret: "app-secret", url: "http://127.0.0.1:6001")
///     try await api.trigger("addUser", on: "userslist", data: User(name: "Ann"))
///
/// One value serves a whole program: it may be called from any task, and keeps its connections open between calls.
///
/// A call is repeated by itself in two cases only, and once: when nothing was sent because one of the host's addresses
/// did not answer and there is another, and when a query finds that a connection kept open from an earlier call was
/// closed. Everything else is thrown, and ``FanfareAPIError/mayHaveArrived`` says whether repeating the call may
/// deliver an event twice.
public final class FanfareAPI: Sendable {
    /// How long a call may take, and how much it may bring.
    public struct Settings: Equatable, Sendable {
        /// How long a call may take, the connection included.
        public var timeout: Duration = .seconds(10)
        /// The longest content of an answer, in bytes; a list of channels grows with their number.
        public var answerLengthMax = 4 << 20
        /// Whom to trust, with `https`.
        public var trust: Trust = .system

        /// Ten seconds, four megabytes, the machine's own authorities.
        public init() {}
    }

    /// The app's id, as it stands in the paths of the API.
    public let appID: String
    /// The app's public key.
    public let key: String
    private let secret: AppSecret
    private let settings: Settings
    private let transport: any APITransport
    /// Seconds since 1970: the signature is good for ten minutes.
    private let clock: @Sendable () -> Int64

    /// Makes a client for one app; the first call connects.
    ///
    /// - Parameters:
    ///   - appID: The app's id, not its key.
    ///   - key: The app's public key.
    ///   - secret: The app's secret; it signs and is never sent.
    ///   - url: Where the broker is, such as `http://127.0.0.1:6001` or `https://push.example.com/prefix`.
    ///   - settings: How long a call may take, and how much it may bring.
    /// - Throws: `.invalidURL`, `.invalidArgument`, or `.unreachable` when the trusted certificates cannot be read.
    public convenience init(
        appID: String,
        key: String,
        secret: String,
        url: String,
        settings: Settings = Settings()
    ) throws(FanfareAPIError) {
        let address = try BrokerAddress(url)
        let transport = try BrokerTransport(to: address, trust: settings.trust)
        try self.init(
            appID: appID,
            key: key,
            secret: secret,
            transport: transport,
            settings: settings
        )
    }

    /// Makes a client for one app over a transport of its own.
    ///
    /// - Parameters:
    ///   - appID: The app's id, not its key.
    ///   - key: The app's public key.
    ///   - secret: The app's secret.
    ///   - transport: What carries the requests.
    ///   - settings: How long a call may take, and how much it may bring; the trust is the transport's matter.
    ///   - clock: Seconds since 1970; `nil` for this machine's clock.
    /// - Throws: `.invalidArgument` when id, key or secret is empty.
    public init(
        appID: String,
        key: String,
        secret: String,
        transport: any APITransport,
        settings: Settings = Settings(),
        clock: (@Sendable () -> Int64)? = nil
    ) throws(FanfareAPIError) {
        for (name, value) in [("id", appID), ("key", key), ("secret", secret)] where value.isEmpty {
            throw .invalidArgument("The app's \(name) is empty")
        }
        self.appID = appID
        self.key = key
        self.secret = AppSecret(secret)
        self.settings = settings
        self.transport = transport
        self.clock = clock ?? { Int64(Date().timeIntervalSince1970) }
    }

    /// Signs and sends a request, and returns the content of the answer if that is a success.
    ///
    /// - Parameters:
    ///   - method: `GET` or `POST`.
    ///   - path: What stands behind `/apps/ID/`; each segment percent-encoded.
    ///   - parameters: The endpoint's own parameters, not encoded.
    ///   - body: The content.
    /// - Returns: The content of the answer.
    /// - Throws: `.refused` for any other status than 200, and what the transport throws.
    func call(
        _ method: String,
        _ path: String,
        parameters: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async throws(FanfareAPIError) -> [UInt8] {
        let path = "/apps/\(FanfareAPI.segment(appID))/\(path)"
        let query = RequestSignature.sign(
            method: method,
            path: path,
            parameters: parameters,
            body: body.span,
            key: key,
            secret: secret,
            timestamp: clock()
        )
        let request = APIRequest(
            method: method,
            target: "\(path)?\(query)",
            body: body,
            timeout: settings.timeout,
            answerLengthMax: settings.answerLengthMax
        )
        let response = try await transport.send(request)
        guard response.status == 200 else {
            throw .refused(
                status: response.status,
                message: FanfareAPI.firstLine(of: response.body)
            )
        }
        return response.body
    }

    /// A name as one segment of a path.
    static func segment(_ name: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var segment: [UInt8] = []
        for byte in name.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                segment.append(byte)
            case _ where "-_.~=@,;".utf8.contains(byte): segment.append(byte)
            default:
                segment += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 0x0F)]]
            }
        }
        return String(decoding: segment, as: UTF8.self)
    }

    /// The broker's explanation, which is one line; a proxy's may be a whole page.
    private static func firstLine(of body: [UInt8]) -> String {
        let line = body.prefix(1024).prefix { $0 != 0x0A && $0 != 0x0D }
        return line.isEmpty ? "(no explanation)" : String(decoding: line, as: UTF8.self)
    }
}
