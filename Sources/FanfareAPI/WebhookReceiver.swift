import PusherProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Verifies what a broker tells a backend.
///
/// ```swift
/// let webhook = try api.webhooks.receive(body) { name in request.headers[name] }
/// for case .memberAdded(let channel, let userID) in webhook.events { … }
/// ```
///
/// Answer with any 2xx once the events are taken care of: the broker repeats everything else for five minutes. It may
/// also repeat what was answered too late, so an event is to do no harm when it comes twice.
public struct WebhookReceiver: Sendable {
    /// The secrets that sign, by key.
    private let secrets: [String: AppSecret]
    /// How old a webhook may be, and how far ahead of this machine's clock.
    ///
    /// Older ones may have been recorded on the way, and be played again.
    public var ageMax: Duration = .seconds(300)
    /// Milliseconds since 1970.
    private let clock: @Sendable () -> Int64

    /// Believes the secrets of one key or several, such as an old and a new one while they are replaced.
    ///
    /// - Parameters:
    ///   - secrets: The secrets that may have signed, by the key that is named in `X-Pusher-Key`; one at least of each.
    ///   - clock: Milliseconds since 1970; `nil` for this machine's clock.
    public init(secrets: [String: [String]], clock: (@Sendable () -> Int64)? = nil) {
        self.secrets = secrets.filter { !$0.value.isEmpty }.mapValues { AppSecret($0) }
        self.clock = clock ?? { Int64(Date().timeIntervalSince1970 * 1_000) }
    }

    /// Verifies a webhook and reads it.
    ///
    /// - Parameters:
    ///   - body: The content exactly as received.
    ///   - field: The value of a header field by its name, whatever its case; `nil` when it is not there.
    /// - Returns: What has happened.
    /// - Throws: Why it is not believed; answer with ``WebhookRefusal/status``.
    public func receive(
        _ body: some Sequence<UInt8>,
        field: (_ name: String) -> String?
    ) throws(WebhookRefusal) -> Webhook {
        try receive(body, key: field("X-Pusher-Key"), signature: field("X-Pusher-Signature"))
    }

    /// Verifies a webhook and reads it.
    ///
    /// - Parameters:
    ///   - body: The content exactly as received.
    ///   - key: The value of the field `X-Pusher-Key`.
    ///   - signature: The value of the field `X-Pusher-Signature`.
    /// - Returns: What has happened.
    /// - Throws: Why it is not believed; answer with ``WebhookRefusal/status``.
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

/// Why a webhook is not believed.
public enum WebhookRefusal: Error, Hashable, Sendable {
    /// There is no `X-Pusher-Key` or no `X-Pusher-Signature`.
    case unsigned
    /// The key is not the app's.
    case unknownKey(String)
    /// None of the key's secrets has signed this content.
    case wrongSignature
    /// It is older than it may be, or from the future if the age is negative.
    case wrongTime(age: Duration, ageMax: Duration)
    /// It is signed, and not what a webhook has to be.
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
    /// What is wrong, and what would be right.
    public var description: String {
        switch self {
        case .unsigned:
            "the webhook is not signed: X-Pusher-Key and X-Pusher-Signature are expected"
        case .unknownKey(let key): "\(key.debugDescription) is not the app's key"
        case .wrongSignature:
            "the signature is not that of this content: check the secret, and that the content is taken as it came"
        case .wrongTime(let age, let ageMax):
            "the webhook is \(age) old, and at most \(ageMax) are allowed: check this machine's clock"
        case .malformed(let reason): "the webhook is not understood: \(reason)"
        }
    }
}

extension FanfareAPI {
    /// Verifies what the broker tells this app's backend: signed with the key and the secret of this client.
    ///
    /// A ``WebhookReceiver`` of one's own believes several keys and secrets.
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
