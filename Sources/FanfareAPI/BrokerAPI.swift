import Primitives
import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A broker's HTTP API, for the backend of an app.
///
///     let api = try BrokerAPI(
///         appID: "1", key: "app-key", secret: "app-secret", url: "http://127.0.0.1:6001")
///     try await api.trigger("addUser", on: "userslist", data: User(name: "Ann"))
///
/// Create one instance per program. Any task may use it, and it keeps its connections open between calls.
///
/// A failed call is retried where that is safe (``Settings/retries``): events have idempotency keys, so the broker
/// publishes an event once even if it arrives twice. If ``FanfareAPIError/mayHaveArrived`` of the thrown error is true,
/// the event may have been published. Repeat it with the same key, within the broker's `idempotency_age`.
public final class BrokerAPI: Sendable {
    /// The time limit, retries, trust and encryption of calls.
    public struct Settings: Sendable {
        /// The time limit of a call, including connections and all attempts.
        public var timeout: Duration = .seconds(10)
        /// The retries of failed calls.
        public var retries = Retries()
        /// Whether events have idempotency keys, so that repeating a call does not publish its events twice.
        ///
        /// Set it to `false` for a broker other than Fanfare, which may publish a repeated event again.
        public var sendsKeys = true
        /// The longest content of a response, in bytes; a list of channels grows with their number.
        public var answerLengthMax = 4 << 20
        /// The certificates to trust for `https`.
        public var trust: Trust = .system
        /// Encrypts the events of encrypted channels; `nil` for a backend that uses none.
        public var sealer: (any EventSealer)?

        /// Creates settings with the defaults: 10 seconds, three attempts, 4 MiB, the system's authorities.
        public init() {}
    }

    /// The app's ID, as in the paths of the API.
    public let appID: String
    /// The app's public key.
    public let key: String
    let secret: AppSecret
    let settings: Settings
    private let transport: any APITransport
    /// Returns seconds since 1970, for signatures, which are valid for ten minutes.
    let clock: @Sendable () -> Int64

    /// Creates a client for one app; the first call connects.
    ///
    /// - Parameters:
    ///   - appID: The app's ID, not its key.
    ///   - key: The app's public key.
    ///   - secret: The app's secret, for signatures; the client never sends it.
    ///   - url: The broker's address, such as `http://127.0.0.1:6001` or `https://push.example.com/prefix`.
    ///   - settings: The settings.
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

    /// Creates a client for one app with a custom transport.
    ///
    /// - Parameters:
    ///   - appID: The app's ID, not its key.
    ///   - key: The app's public key.
    ///   - secret: The app's secret.
    ///   - transport: The transport.
    ///   - settings: The settings; `trust` is ignored.
    ///   - clock: Returns seconds since 1970; `nil` for the system's clock.
    /// - Throws: `.invalidArgument` when ID, key or secret is empty.
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

    /// Signs and sends a request, retries it where that is safe, and returns the content of a 200 response.
    ///
    /// - Parameters:
    ///   - method: `GET` or `POST`.
    ///   - path: The path after `/apps/ID/`, each segment percent-encoded.
    ///   - parameters: The endpoint's parameters, not encoded.
    ///   - body: The content.
    ///   - retry: The effect of a request that arrives twice.
    /// - Returns: The content of the response.
    /// - Throws: `.refused` for any status other than 200, and the errors of the transport.
    func call(
        _ method: String,
        _ path: String,
        parameters: [(name: String, value: String)] = [],
        body: [UInt8] = [],
        retry: RetrySafety
    ) async throws(FanfareAPIError) -> [UInt8] {
        let end = ContinuousClock.now + settings.timeout
        let mayRepeat = retry == .idempotent || settings.retries.repeatsTriggers
        var failures = 0
        while true {
            do throws(FanfareAPIError) {
                return try await attempt(method, path, parameters, body, until: end)
            } catch {
                failures += 1
                let pause = settings.retries.pause(afterFailures: failures)
                guard failures < settings.retries.attemptCountMax, error.isTemporary,
                    mayRepeat || !error.mayHaveArrived, .now + pause < end
                else {
                    guard case .timedOut(_, let mayHaveArrived) = error else { throw error }
                    // The caller's limit covers all attempts, not just the last.
                    throw .timedOut(after: settings.timeout, mayHaveArrived: mayHaveArrived)
                }
                // The task was cancelled during the pause: there is no further attempt.
                guard (try? await Task.sleep(for: pause)) != nil else { throw error }
            }
        }
    }

    private func attempt(
        _ method: String,
        _ path: String,
        _ parameters: [(name: String, value: String)],
        _ body: [UInt8],
        until end: ContinuousClock.Instant
    ) async throws(FanfareAPIError) -> [UInt8] {
        let path = "/apps/\(BrokerAPI.segment(appID))/\(path)"
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
            timeout: ContinuousClock.now.duration(to: end),
            answerLengthMax: settings.answerLengthMax
        )
        let response = try await transport.send(request)
        guard response.status == 200 else {
            throw .refused(
                status: response.status,
                message: BrokerAPI.firstLine(of: response.body)
            )
        }
        return response.body
    }

    /// Returns a name percent-encoded as one path segment.
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

    /// Returns the first line of an error response; the broker's text has one line, a proxy's may be a whole page.
    private static func firstLine(of body: [UInt8]) -> String {
        let line = body.prefix(1024).prefix { $0 != 0x0A && $0 != 0x0D }
        return line.isEmpty ? "(no explanation)" : String(decoding: line, as: UTF8.self)
    }
}
