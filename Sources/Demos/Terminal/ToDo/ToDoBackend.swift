import FanfareAPI
import Foundation

/// The to-dos' backend, by its HTTP routes.
struct ToDoBackend: Sendable {
    private let transport: any APITransport

    init(url: String) throws(FanfareAPIError) {
        transport = try BrokerTransport(to: BrokerAddress(url))
    }

    /// Why an edit is not taken.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    /// There is no answer at present.
    struct Away: Error, CustomStringConvertible {
        let description: String
    }

    private struct Everything: Decodable { let rows: [LocalToDo] }
    private struct Answer: Decodable { let error: String }

    private struct Commit: Encodable {
        let mutation: String
        let operations: [ToDoOperation]
    }

    /// All to-dos, done and not.
    ///
    /// - Throws: ``Away``.
    func everything() async throws -> [LocalToDo] {
        let body = try await ask("GET", "/to-do/rows", [])
        return try JSONDecoder().decode(Everything.self, from: body).rows
    }

    /// Sends an edit.
    ///
    /// - Throws: ``Refusal`` when it is not taken, ``Away`` when it may be sent again.
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
            throw Away(description: "The backend cannot be reached.")
        }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        switch response.status {
        case 200: return Data(response.body)
        case 400..<500 where response.status != 408 && response.status != 429:
            throw Refusal(description: answer?.error ?? "The backend answered \(response.status).")
        default:
            throw Away(description: answer?.error ?? "The backend answered \(response.status).")
        }
    }
}
