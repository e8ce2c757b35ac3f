import Primitives
import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Verifies and parses webhooks.
///
/// ```swift
/// let webhook = try api.webhooks.receive(body) { name in request.headers[name] }
/// for case .memberAdded(let channel, let userID) in webhook.events { … }
/// ```
///
/// Answer with any 2xx status once the events are handled; otherwise the broker retries for five minutes. It also
/// retries after a late answer, so handle events idempotently.
public struct WebhookReceiver: Sendable {
    /// The secrets by key.
    private let secrets: [String: AppSecret]
    /// The maximum age of a webhook, and the maximum lead over this machine's clock; limits replay attacks.
    public var ageMax: Duration = .seconds(300)
    /// Returns milliseconds since 1970.
    private let clock: @Sendable () -> Int64

    /// Creates a receiver for one or several keys; during a rotation a key may have several secrets.
    ///
    /// - Parameters:
    ///   - secrets: The accepted secrets by key (`X-Pusher-Key`), at least one for each key.
    ///   - clock: Returns milliseconds since 1970; `nil` for the system's clock.
    public init(secrets: [String: [String]], clock: (@Sendable () -> Int64)? = nil) {
        self.secrets = secrets.filter { !$0.value.isEmpty }.mapValues { AppSecret($0) }
        self.clock = clock ?? { Int64(Date().timeIntervalSince1970 * 1_000) }
    }

    /// Verifies and parses a webhook.
    ///
    /// - Parameters:
    ///   - body: The content exactly as received.
    ///   - field: Returns the value of a header field by its case-insensitive name; `nil` if there is none.
    /// - Returns: The webhook.
    /// - Throws: The reason for refusing it; answer with ``WebhookRefusal/status``.
    public func receive(
        _ body: some Sequence<UInt8>,
        field: (_ name: String) -> String?
    ) throws(WebhookRefusal) -> Webhook {
        try receive(body, key: field("X-Pusher-Key"), signature: field("X-Pusher-Signature"))
    }

    /// Verifies and parses a webhook.
    ///
    /// - Parameters:
    ///   - body: The content exactly as received.
    ///   - key: The value of the field `X-Pusher-Key`.
    ///   - signature: The value of the field `X-Pusher-Signature`.
    /// - Returns: The webhook.
    /// - Throws: The reason for refusing it; answer with ``WebhookRefusal/status``.
    public func receive(
        _ body: some Sequence<UInt8>,
        key: String?,
        signature: String?
    ) throws(WebhookRefusal) -> Webhook {
        guard let key, let signature else { throw .unsigned }
        guard let secret = secrets[key] else { throw .unknownKey(key) }
        let bytes = Array(body)
        guard WebhookSignature.verify(signature, body: bytes.span, secret: secret) else {
            throw .wrongSignature
        }
        let webhook = try Webhook(bytes)
        let age = Duration.milliseconds(clock() - webhook.milliseconds)
        guard (.zero - ageMax...ageMax).contains(age) else {
            throw .wrongTime(age: age, ageMax: ageMax)
        }
        return webhook
    }
}

/// The reason a webhook is refused.
public enum WebhookRefusal: Error, Hashable, Sendable {
    /// `X-Pusher-Key` or `X-Pusher-Signature` is missing.
    case unsigned
    /// The key is not the app's.
    case unknownKey(String)
    /// The signature matches none of the key's secrets.
    case wrongSignature
    /// The webhook is too old, or from the future (a negative age).
    case wrongTime(age: Duration, ageMax: Duration)
    /// The webhook is signed but malformed.
    case malformed(String)

    /// The HTTP status to answer with.
    public var status: Int {
        switch self {
        case .unsigned, .unknownKey, .wrongSignature, .wrongTime: 401
        case .malformed: 400
        }
    }
}

extension WebhookRefusal: CustomStringConvertible {
    /// What is wrong, and the expected form.
    public var description: String {
        switch self {
        case .unsigned:
            "the webhook is not signed: expected X-Pusher-Key and X-Pusher-Signature"
        case .unknownKey(let key): "\(key.debugDescription) is not the app's key"
        case .wrongSignature:
            "the signature does not match: check the secret, and that the content is passed exactly as received"
        case .wrongTime(let age, let ageMax):
            "the webhook is \(age) old, more than the limit of \(ageMax): check this machine's clock"
        case .malformed(let reason): "the webhook is malformed: \(reason)"
        }
    }
}

extension BrokerAPI {
    /// A receiver of webhooks that are signed with this client's key and secret.
    ///
    /// For several keys or secrets, create a ``WebhookReceiver``.
    public var webhooks: WebhookReceiver {
        WebhookReceiver(key: key, secret: secret, clock: { [clock] in clock() * 1_000 })
    }
}

extension WebhookReceiver {
    fileprivate init(key: String, secret: AppSecret, clock: @escaping @Sendable () -> Int64) {
        secrets = [key: secret]
        self.clock = clock
    }
}
