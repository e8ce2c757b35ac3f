import FanfareTesting
import Foundation
import HTTPClient
import Testing

@testable import FanfareClient

@Suite("Requests to an authorisation endpoint and its responses") struct AuthorizationEndpointTests
{
    private let one = AuthorizationRequest(socketID: "1.2", channels: ["private-a=1;ż"])
    private let two = AuthorizationRequest(socketID: "1.2", channels: ["private-a", "presence-b"])
    private let user = AuthorizationRequest(socketID: "1.2", channels: [])

    private func body(_ endpoint: AuthorizationEndpoint, _ request: AuthorizationRequest) -> String
    {
        String(decoding: AuthorizationRequestBody(endpoint, request).bytes, as: UTF8.self)
    }

    @Test("The default request is a form, which backend libraries expect")
    func form() {
        let endpoint: AuthorizationEndpoint = "https://a/auth"
        #expect(
            AuthorizationRequestBody(endpoint, one).contentType
                == "application/x-www-form-urlencoded"
        )
        #expect(body(endpoint, one) == "socket_id=1.2&channel_name=private-a%3D1%3B%C5%BC")
        #expect(body(endpoint, user) == "socket_id=1.2")
    }

    @Test func formWithParametersAndManyChannels() {
        let endpoint = AuthorizationEndpoint(
            "https://a/auth",
            parameters: ["z": "1 2", "a": "&"],
            channelsPerRequestMax: 10
        )
        #expect(
            body(endpoint, two)
                == "socket_id=1.2&channel_name%5B%5D=private-a&channel_name%5B%5D=presence-b&a=%26&z=1+2"
        )
    }

    @Test func json() {
        func endpoint(_ channelsPerRequestMax: Int = 1) -> AuthorizationEndpoint {
            AuthorizationEndpoint(
                "https://a/auth",
                encoding: .json,
                parameters: ["a": "ż"],
                channelsPerRequestMax: channelsPerRequestMax
            )
        }
        #expect(AuthorizationRequestBody(endpoint(), one).contentType == "application/json")
        #expect(
            body(endpoint(), one)
                == #"{"socket_id":"1.2","channel_name":"private-a=1;ż","a":"ż"}"#
        )
        #expect(body(endpoint(), user) == #"{"socket_id":"1.2","a":"ż"}"#)
        #expect(
            body(endpoint(2), two)
                == #"{"socket_id":"1.2","channel_name":["private-a","presence-b"],"a":"ż"}"#
        )
    }

    @Test func readsAnswers() throws {
        let text =
            #"{"auth":"k:s","channel_data":"{\"user_id\":\"1\"}","shared_secret":"c2Vj","x":[1]}"#
        let answer = try AuthorizationResponse.channel("c", Array(text.utf8)).get()
        #expect(answer.auth == "k:s")
        #expect(answer.channelData == #"{"user_id":"1"}"#)
        #expect(answer.sharedSecret == "c2Vj")
        let user = try AuthorizationResponse.user(
            Array(#"{"auth":"k:s","user_data":"{\"id\":\"1\"}"}"#.utf8)
        )
        #expect(user == UserAuthentication(auth: "k:s", userData: #"{"id":"1"}"#))
    }

    @Test("A response for many channels has an entry for each, in either form")
    func readsMany() throws {
        let text = """
            {"a":{"auth":"k:1"},"b":{"status":200,"data":{"auth":"k:2","channel_data":"{}"}},
            "c":{"status":403},"d":{"status":200,"data":{}},"f":{"auth":"k:6"}}
            """
        let answers = try AuthorizationResponse.channels(
            ["a", "b", "c", "d", "e"],
            Array(text.utf8)
        )
        #expect(answers.keys.sorted() == ["a", "b", "c", "d"])
        #expect(try answers["a"]?.get() == ChannelAuthorization(auth: "k:1"))
        #expect(try answers["b"]?.get() == ChannelAuthorization(auth: "k:2", channelData: "{}"))
        #expect(answers["c"] == .failure(.refused(status: 403, body: "")))
        guard case .failure(.malformed) = answers["d"] else {
            Issue.record("\(answers)")
            return
        }
    }

    @Test(
        "The error for a malformed response says what to return, without secrets",
        arguments: [
            "", "<html>5ec2e7", "[]", "{}", #"{"auth":5}"#, #"{"auth":{"5ec2e7":1}}"#, #""5ec2e7""#,
        ]
    )
    func refusesAnswers(text: String) {
        let outcome = Result { () throws(AuthorizationFailure) in
            try AuthorizationResponse.channel("c", Array(text.utf8)).get()
        }
        guard case .failure(.malformed(let reason)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reason.contains(#"{"auth":"KEY:signature"}"#))
        #expect(!reason.contains("5ec2e7"))
    }

    @Test(arguments: [
        ("https://a.example/pusher/auth?app=1#x", "https://a.example", "/pusher/auth?app=1"),
        ("http://127.0.0.1:4000", "http://127.0.0.1:4000", "/"),
        ("http://[::1]:4000?x", "http://[::1]:4000", "/?x"),
    ])
    func readsURLs(url: String, address: String, target: String) throws {
        let resource = try #require(HTTPResource(url))
        #expect(resource.address.url == address)
        #expect(resource.target == target)
    }

    @Test(arguments: [
        "", "/pusher/auth", "ftp://a/b", "http://", "http://a b/c", "http://a/b c", "http://a/ż",
    ])
    func refusesURLs(url: String) { #expect(HTTPResource(url) == nil) }
}

@Suite("Retries of requests to a backend", .timeLimit(.minutes(1))) struct RetryingRequestTests {
    private let clock = ManualClock()

    private func request(_ count: Int = 4) -> RetryingRequest {
        RetryingRequest(
            attemptCountMax: count,
            backoff: Backoff(floor: .seconds(1), window: .zero, cap: .seconds(1)),
            timeout: .seconds(10),
            clock: ClientClock(clock)
        )
    }

    private struct Whatever: Error {}

    @Test(
        "Temporary failures are retried",
        arguments: [
            AuthorizationFailure.refused(status: 500, body: ""), .refused(status: 503, body: ""),
            .unreachable(""), .failed(""), .timedOut(after: .zero),
        ]
    )
    func again(failure: AuthorizationFailure) async throws {
        let asked = Seen<Int>()
        let task = Task {
            await request().run { () async throws -> Int in
                asked.add(1)
                guard asked.all.count == 3 else { throw failure }
                return 7
            }
        }
        for _ in 0..<2 {
            try await clock.waitForSleep(of: .seconds(1))
            clock.advance(by: .seconds(1))
        }
        #expect(await task.value == .success(7))
        #expect(asked.all.count == 3)
    }

    @Test(
        "Permanent failures are not retried",
        arguments: [
            AuthorizationFailure.refused(status: 401, body: ""), .refused(status: 403, body: ""),
            .refused(status: 404, body: ""), .refused(status: 422, body: ""),
            .refused(status: 302, body: ""), .malformed(""), .invalidEndpoint(""), .notConfigured,
        ]
    )
    func once(failure: AuthorizationFailure) async {
        let asked = Seen<Int>()
        let outcome = await request().run { () async throws -> Int in
            asked.add(1)
            throw failure
        }
        #expect(outcome == .failure(failure))
        #expect(asked.all.count == 1)
    }

    @Test func stopsAfterTheLastAttempt() async throws {
        let task = Task { await request(2).run { () async throws -> Int in throw Whatever() } }
        try await clock.waitForSleep(of: .seconds(1))
        clock.advance(by: .seconds(1))
        guard case .failure(.failed(let reason)) = await task.value else {
            Issue.record("this should fail")
            return
        }
        #expect(reason.contains("Whatever"))
    }

    @Test("An attempt ends at its timeout, even if it ignores cancellation")
    func timesOut() async throws {
        let never = AsyncStream<Int>.makeStream()
        let task = Task {
            await request(1).run { () async throws -> Int in
                // Not cancelled with the attempt, like a continuation of an app.
                await Task.detached {
                    for await value in never.stream { return value }; return 0
                }.value
            }
        }
        try await clock.waitForSleep(of: .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(await task.value == .failure(.timedOut(after: .seconds(10))))
        never.continuation.finish()
    }

    @Test func endsWhenItsTaskIsCancelled() async throws {
        let task = Task { await request().run { () async throws -> Int in throw Whatever() } }
        try await clock.waitForSleep(of: .seconds(1))
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test("The retries of a thousand clients are spread out")
    func spreads() {
        let backoff = ClientOptions().authorization.backoff
        var generator = SystemRandomNumberGenerator()
        let delays = (0..<1000).map { _ in backoff.delay(failures: 0, using: &generator) }
        let buckets = Dictionary(grouping: delays) { Int($0 / .milliseconds(100)) }
        #expect(buckets.values.allSatisfy { $0.count <= 200 })
    }
}
