import Primitives

/// The signature of a webhook's body.
public enum WebhookSignature {
    /// Signs a webhook.
    ///
    /// - Parameters:
    ///   - body: The content exactly as sent.
    ///   - secret: The secret of the key in `X-Pusher-Key`.
    /// - Returns: The value of `X-Pusher-Signature`.
    public static func sign(_ body: Span<UInt8>, secret: AppSecret) -> String {
        secret.sign(body)
    }

    /// Verifies the signature of a webhook, in constant time.
    ///
    /// - Parameters:
    ///   - signature: The value of `X-Pusher-Signature`.
    ///   - body: The content exactly as received.
    ///   - secret: The secret of the key in `X-Pusher-Key`.
    /// - Returns: Whether it is the signature of `body`.
    public static func verify(
        _ signature: String,
        body: Span<UInt8>,
        secret: AppSecret
    ) -> Bool {
        secret.verify(Array(signature.utf8).span, of: body)
    }
}
