import Foundation
import Testing

/// The broker's answer to the question what became of a message.
struct Delivery: Decodable {
    struct Message: Decodable {
        let serial: Int
        let last: Int
        let kept: Bool
        let published: Int?
        let excluded: String?
    }

    struct Connection: Decodable {
        struct Subscription: Decodable {
            let start: Int?
            let live: Int?
            let end: Int?
            let resumed_from: Int?
            let dropped_from: Int?
            let confirmed: Int?
            let gap: String?
            let predecessor: String?
            let successor: String?
        }

        let socket_id: String
        let verdict: String
        let client: String?
        let user_id: String?
        let code: Int?
        let closed: Int?
        let closed_by_client: Bool?
        let subscription: Subscription?
    }

    let message: Message?
    let verdict: String?
    let connections: [Connection]?
    let counts: [String: Int]?
}

extension TestBroker {
    /// Asks what became of a message.
    func delivery(
        _ serial: Int,
        on channel: String,
        socket: String? = nil,
        user: String? = nil
    ) async throws -> Delivery {
        let parameters = [("socket_id", socket), ("user_id", user)].compactMap { name, value in
            value.map { (name, $0) }
        }
        let answer = try await Wire(port: port).ask(
            SignedRequest(
                method: "GET",
                path: "/apps/1/channels/\(channel)/messages/\(serial)/delivery",
                parameters: parameters
            )
        )
        #expect(answer.status == 200, "\(answer.body)")
        return try JSONDecoder().decode(Delivery.self, from: Data(answer.body.utf8))
    }

    /// The verdict about a message for a client.
    func verdict(
        _ serial: Int,
        on channel: String,
        _ client: TrackingWire
    ) async throws -> String? {
        try await delivery(serial, on: channel, socket: client.socketID).verdict
    }
}
