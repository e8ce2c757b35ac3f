internal import Broker
internal import PusherProtocol

/// A request, without the headers that the connection adds.
struct WebhookRequest: Sendable, Equatable {
    let url: String
    /// Names and values; the case of the names is part of the protocol, because some receivers compare it.
    let headers: [(name: String, value: String)]
    let body: [UInt8]

    static func == (left: WebhookRequest, right: WebhookRequest) -> Bool {
        left.url == right.url && left.body == right.body
            && left.headers.elementsEqual(right.headers, by: ==)
    }
}

extension WebhookRequest {
    /// Creates the request of one attempt, signed with the app's current key.
    init(_ delivery: Delivery, to endpoint: WebhookConfiguration, of app: WebhookApp) {
        let body = delivery.body
        var headers = [
            ("Content-Type", "application/json"),
            ("X-Pusher-Key", app.key),
            ("X-Pusher-Signature", WebhookSignature.sign(body.span, secret: app.secret)),
            ("X-Delivery-Id", delivery.headerID),
        ]
        if !delivery.origins.isEmpty {
            headers.append(("X-Fanfare-Webhook-ID", delivery.originsText))
        }
        if !endpoint.headers.keys.contains(where: { $0.lowercased() == "user-agent" }) {
            headers.append(("User-Agent", "Fanfare"))
        }
        for (name, value) in endpoint.headers.sorted(by: { $0.key < $1.key }) {
            headers.append((name, value))
        }
        self.init(
            url: endpoint.url,
            headers: headers.map { (name: $0.0, value: $0.1) },
            body: body
        )
    }
}

/// The outcome of an attempt.
enum SendOutcome: Sendable, Equatable {
    /// The endpoint has answered.
    case answered(status: Int)
    /// No response; the reason, as a sentence without its full stop.
    case failed(String)

    /// Whether the webhook is delivered: any 2xx.
    var isSuccess: Bool {
        if case .answered(let status) = self { (200..<300).contains(status) } else { false }
    }

    /// The error, as a sentence without its full stop.
    var complaint: String {
        switch self {
        case .answered(let status) where (300..<400).contains(status):
            "the endpoint answered \(status), a redirect, which is not followed"
        case .answered(let status): "the endpoint answered \(status)"
        case .failed(let reason): reason
        }
    }
}

/// Sends requests to endpoints.
protocol WebhookTransport: Sendable {
    /// Makes one attempt, and returns its outcome within the timeout.
    func send(_ request: WebhookRequest) async -> SendOutcome

    /// Closes all connections; later attempts fail.
    func close() async
}
