import FanfareAPI
import FanfareClient
import Foundation
import LiveCollections

/// The HTTP client of the text's backend.
struct TextBackend: Sendable {
    private let transport: any APITransport

    init(url: String) throws(FanfareAPIError) {
        transport = try SocketTransport(to: BrokerAddress(url))
    }

    /// Returns a source of the text that uses these routes and a channel.
    func source(_ channel: Channel) -> ChannelTextSource {
        ChannelTextSource(
            channel: channel,
            snapshot: { try await ask("GET", "/text/snapshot") },
            recovery: { try await ask("GET", "/text/operations?after=\($0)&epoch=\($1)") },
            send: { batch in
                let _: Committed = try await ask(
                    "POST",
                    "/text/operations",
                    try JSONEncoder().encode(batch)
                )
            }
        )
    }

    private struct Committed: Decodable { let serial: UInt64 }
    private struct Failure: Error { let status: Int }

    private func ask<Answer: Decodable>(
        _ method: String,
        _ target: String,
        _ body: Data = Data()
    ) async throws -> Answer {
        let response = try await transport.send(
            APIRequest(
                method: method,
                target: target,
                body: Array(body),
                timeout: .seconds(10),
                answerLengthMax: 16 << 20
            )
        )
        let text = String(decoding: response.body, as: UTF8.self)
        if response.status == 200 {
            return try JSONDecoder().decode(Answer.self, from: Data(response.body))
        }
        throw TextRefusal(status: response.status, reason: text) ?? Failure(status: response.status)
    }
}
