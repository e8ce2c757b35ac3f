import FanfareAPI
import Foundation
import LiveCollections

/// The HTTP client of the to-dos' backend.
struct ToDoBackend: Sendable {
    private let transport: any APITransport

    init(url: String) throws(FanfareAPIError) {
        transport = try BrokerTransport(to: BrokerAddress(url))
    }

    /// The reason for which an edit is refused.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// The backend is temporarily unavailable.
    struct Unavailable: Error, CustomStringConvertible {
        let description: String
    }

    private struct AllRows: Decodable { let rows: [LocalToDo] }
    private struct Answer: Decodable { let error: String }

    private struct Commit: Encodable {
        let mutation: String
        let operations: [ToDoOperation]
    }

    /// Returns all to-dos, done and open; throws ``Unavailable``.
    func fetchAll() async throws -> [LocalToDo] {
        let body = try await ask("GET", "/to-do/rows", [])
        return try JSONDecoder().decode(AllRows.self, from: body).rows
    }

    /// Sends an edit; throws a ``Refusal`` when it is refused, ``Unavailable`` when it can be sent again.
    func commit(_ edit: LocalToDos.Edit) async throws {
        let commit = Commit(mutation: edit.mutation, operations: [edit.operation])
        _ = try await ask("POST", "/to-do/rows/operations", Array(try JSONEncoder().encode(commit)))
    }

    private func ask(_ method: String, _ target: String, _ body: [UInt8]) async throws -> Data {
        let response: APIResponse
        do throws(FanfareAPIError) {
            response = try await transport.send(
                APIRequest(
                    method: method,
                    target: target,
                    body: body,
                    timeout: .seconds(10),
                    answerLengthMax: 4 << 20
                )
            )
        } catch {
            throw Unavailable(description: "The backend cannot be reached.")
        }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        switch response.status {
        case 200: return Data(response.body)
        case let status
        where BackendFailure.isRefusal(status) && (answer != nil || status == 413):
            throw Refusal(description: answer?.error ?? "The backend answered \(response.status).")
        default:
            throw Unavailable(
                description: answer?.error ?? "The backend answered \(response.status)."
            )
        }
    }
}
