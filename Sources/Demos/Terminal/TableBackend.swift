import FanfareAPI
import Foundation

/// The demo's backend, by its HTTP routes.
struct TableBackend: Sendable {
    private let transport: any APITransport
    private let deviceID = "terminal-\(UInt32.random(in: 0 ... .max))"

    init(url: String) throws(FanfareAPIError) {
        transport = try SocketTransport(to: BrokerAddress(url))
    }

    /// The rows in their order.
    func users() async throws -> [UserTable.Row] {
        try JSONDecoder().decode([UserTable.Row].self, from: try await ask("GET", "/users"))
    }

    func add(name: String) async throws {
        _ = try await ask("POST", "/add", ["name": name])
    }

    func remove(_ row: UserTable.Row, index: Int) async throws {
        _ = try await ask("POST", "/delete", ["id": row.id, "index": index])
    }

    func move(_ rows: [UserTable.Row], from source: Int, to destination: Int) async throws {
        _ = try await ask(
            "POST",
            "/move",
            [
                "src": source, "dest": destination,
                "src_id": rows[source].id, "dest_id": rows[destination].id,
            ]
        )
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ fields: [String: Any]? = nil
    ) async throws -> Data {
        var body = Data()
        if var fields {
            fields["deviceId"] = deviceID
            body = try JSONSerialization.data(withJSONObject: fields)
        }
        let response = try await transport.send(
            APIRequest(
                method: method,
                target: target,
                body: Array(body),
                timeout: .seconds(10),
                answerLengthMax: 4 << 20
            )
        )
        guard response.status == 200 else {
            throw Refusal(text: String(decoding: response.body, as: UTF8.self))
        }
        return Data(response.body)
    }

    /// What the backend answered instead of doing it.
    struct Refusal: Error, CustomStringConvertible {
        var text: String
        var description: String { "The backend refused: \(text)" }
    }
}
