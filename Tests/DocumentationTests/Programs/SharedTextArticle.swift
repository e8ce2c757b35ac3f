import FanfareClient
import LiveCollections

@MainActor func sharedTextArticle(client: Fanfare, backend: some Backend, view: some View) {
    let source = ChannelTextSource(
        channel: client.subscribe("collabo"),
        snapshot: { try await backend.get("snapshot") },
        recovery: { try await backend.get("operations?after=\($0)&epoch=\($1)") },
        send: { try await backend.post("operations", $0) }
    )
    let text = LiveText(from: source)
    text.observe { splice in view.replace(splice.range, with: splice.replacement) }
    text.start()
}

/// The app's HTTP client, which the article does not show.
protocol Backend: Sendable {
    func get<Value: Decodable>(_ path: String) async throws -> Value
    func post(_ path: String, _ value: some Encodable) async throws
}

/// The app's text view, which the article does not show.
@MainActor protocol View {
    func replace(_ range: Range<Int>, with replacement: String)
}
