/// The signature of a webhook, over its body as it is.
public enum WebhookSignature {
    /// Returns the value of `X-Pusher-Signature`.
    ///
    /// - Parameters:
    ///   - body: The content exactly as it is sent.
    ///   - secret: The secret of the key in `X-Pusher-Key`.
    public static func sign(_ body: Span<UInt8>, secret: AppSecret) -> String {
        secret.sign(body)
    }

    /// Whether `signature` is that of `body`.
    ///
    /// - Parameters:
    ///   - signature: The value of `X-Pusher-Signature`.
    ///   - body: The content exactly as received.
    ///   - secret: The secret of the key in `X-Pusher-Key`.
    public static func verify(
        _ signature: String,
        body: Span<UInt8>,
        secret: AppSecret
    ) -> Bool {
        secret.verify(Array(signature.utf8).span, of: body)
    }
}
