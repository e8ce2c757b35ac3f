import Foundation
import LiveRows
import Synchronization
import Testing

@testable import LiveCollections

@Suite("The requests of a list to its backend", .timeLimit(.minutes(2))) struct HTTPListBackendTests
{
    private static let commit = ListCommit<Player>(mutation: "m", operations: [.remove(1)])

    /// Answers requests in order, and keeps them.
    private final class Exchange: Sendable {
        private let answers: Mutex<[ListAnswer]>
        private let sent = Mutex<[ListRequest]>([])

        init(_ answers: (Int, String)...) {
            self.answers = Mutex(
                answers.map { ListAnswer(status: $0.0, content: Data($0.1.utf8)) }
            )
        }

        var requests: [ListRequest] { sent.withLock { $0 } }

        func backend(
            _ fields: @escaping ListFields = { _ in [:] }
        ) throws -> HTTPListBackend<Player> {
            let base = try #require(URL(string: "http://backend.test/players"))
            return HTTPListBackend(base: base, fields: fields) { request in
                self.sent.withLock { $0.append(request) }
                return self.answers.withLock { $0.removeFirst() }
            }
        }
    }

    @Test("After a 401 the fields are asked for anew, and the edit is sent again")
    func freshFields() async throws {
        let exchange = Exchange((401, ""), (200, #"{"revision":6}"#), (200, #"{"revision":7}"#))
        let asked = Mutex<[Bool]>([])
        let backend = try exchange.backend { isRejected in
            asked.withLock { $0.append(isRejected) }
            return ["Authorization": isRejected ? "new" : "old"]
        }
        #expect(try await backend.commit(Self.commit) == 6)
        #expect(try await backend.commit(Self.commit) == 7)
        #expect(asked.withLock { $0 } == [false, true, false])
        #expect(exchange.requests.map { $0.fields["Authorization"] } == ["old", "new", "old"])
        #expect(exchange.requests[0].content == exchange.requests[1].content)
    }

    @Test(
        "A status from 400 to 499 refuses the edit, with the backend's reason",
        arguments: [400, 403, 404, 409, 413, 422]
    )
    func refused(status: Int) async throws {
        let exchange = Exchange((status, #"{"error":"too long"}"#))
        await #expect(throws: LiveListError.refused(reason: "too long")) {
            try await exchange.backend().commit(Self.commit)
        }
    }

    @Test("What is too long for a proxy is refused without a reason")
    func tooLong() async throws {
        await #expect(throws: LiveListError.refused(reason: "it is too long")) {
            try await Exchange((413, "<html>")).backend().commit(Self.commit)
        }
    }

    @Test(
        "A status that does not concern the edit is none: it is sent again, also after a second 401",
        arguments: [401, 407, 408, 421, 425, 429]
    )
    func notNow(status: Int) async throws {
        let answer = (status, #"{"error":"sign in again"}"#)
        await #expect(throws: BackendFailure.self) {
            try await Exchange(answer, answer).backend().commit(Self.commit)
        }
    }

    @Test("The fields of a snapshot are asked for anew after a 401, too")
    func snapshot() async throws {
        let exchange = Exchange((401, ""), (200, #"{"revision":6,"rows":[{"id":1,"name":"a"}]}"#))
        let snapshot = try await exchange.backend().snapshot()
        #expect(snapshot.rows == [Player(1, "a")])
        #expect(exchange.requests.map(\.method) == ["GET", "GET"])
    }

    @Test("Rows with text that was cut inside an emoji are read")
    func loneSurrogates() async throws {
        let content = #"{"revision":6,"rows":[{"id":1,"name":"Ann \ud83d"}]}"#
        let snapshot = try await Exchange((200, content)).backend().snapshot()
        #expect(snapshot.rows == [Player(1, "Ann \u{FFFD}")])
    }

    @Test("An error of the closure for the fields is no refusal")
    func failingFields() async throws {
        let exchange = Exchange()
        await #expect(throws: Late.self) {
            try await exchange.backend { _ in throw Late() }.commit(Self.commit)
        }
        #expect(exchange.requests.isEmpty)
    }

    @Test(
        "A failure is no refusal, and says what is wrong",
        arguments: [
            (503, "", "status 503; the request is sent again"),
            (408, "", "status 408"), (429, "", "status 429"),
            (403, "<html>", "status 403; the request is sent again"),
            (200, "hello", #"status 200, but it is not {"revision":14}: it is invalid"#),
            (200, #"{"revision":"x"}"#, #""revision" is not a"#),
            (204, "", #"it is not {"revision":14}"#),
        ]
    )
    func failures(status: Int, content: String, text: String) async throws {
        let backend = try Exchange((status, content)).backend()
        do {
            _ = try await backend.commit(Self.commit)
            Issue.record("it was accepted")
        } catch {
            #expect(error is BackendFailure)
            #expect("\(error)".contains(text), "\(error)")
        }
    }

    @Test("A snapshot without revision or rows is an error with the member")
    func badSnapshot() async throws {
        let backend = try Exchange((200, #"{"rows":[]}"#)).backend()
        do {
            _ = try await backend.snapshot()
            Issue.record("it was accepted")
        } catch {
            #expect("\(error)".contains(#""revision" is missing"#), "\(error)")
        }
    }
}
