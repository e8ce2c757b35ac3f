import Broker
import BrokerConfiguration
import Glibc
import Testing

@testable import FanfareServer

@Suite("Conformance: signatures, HTTP API §3") struct SigningConformanceTests {
    private let trigger = HandSignedRequest(
        method: "POST",
        path: "/apps/1/events",
        body: #"{"name":"e","channel":"a","data":"1"}"#
    )
    private let list = HandSignedRequest(path: "/apps/1/channels")

    @Test(
        "Arrays of a query are accepted as each library signs them, in the order given and no other",
        arguments: [
            (["channels[]=b", "channels[]=a"], 200), (["channels=b,a"], 200),
            (["channels[]=b,a"], 200), (["channels[]=a", "channels[]=b"], 401),
            (["channels=a,b"], 401),
        ]
    )
    func arrays(signed: [String], status: Int) async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "b")
            var request = trigger
            request.body = ""
            request.query = ["name=e", "data=1", "channels[]=b", "channels[]=a"]
            request.signedQuery = ["name=e", "data=1"] + signed
            #expect(try await broker.ask(request).status == status)
            request.signedQuery = nil
            #expect(try await broker.ask(request).status == 200)
            for _ in 0..<(status == 200 ? 2 : 1) {
                #expect(
                    try await client.nextText() == #"{"event":"e","channel":"b","data":"1"}"#
                )
            }
            try await client.expectNothing()
        }
    }

    @Test("Parameter names are signed in lower case, values decoded, with any escaping")
    func escaping() async throws {
        try await TestBroker.run { broker in
            for (sent, signed) in [
                ("Name=Something%20else", "name=Something else"),
                ("q=a%2Bb%20%26%20%C5%BB%3D1", "q=a+b & Ż=1"), ("q=a,b=c:d", "q=a,b=c:d"),
                ("info=user_count%2Csubscription_count", "info=user_count,subscription_count"),
                ("q=a+b", "q=a+b"), ("q=a+b", "q=a b"),
            ] {
                var request = list
                request.query = [sent, "filter_by_prefix=presence-"]
                request.signedQuery = [signed, "filter_by_prefix=presence-"]
                let answer = try await broker.ask(request)
                #expect(answer.status == 200, "\(sent) as \(signed)")
            }
        }
    }

    @Test("The digest of an empty body on a GET is accepted and signed, as the Python library does")
    func emptyDigest() async throws {
        try await TestBroker.run { broker in
            var request = list
            request.bodyMD5 = "d41d8cd98f00b204e9800998ecf8427e"
            let list = try await broker.ask(request)
            #expect(list.status == 200)
            request.path = "/apps/1/channels/presence-a/users"
            #expect(try await broker.ask(request).status == 200)
            request.bodyMD5 = "d41d8cd98f00b204e9800998ecf8427f"
            #expect(try await broker.ask(request).body == "Invalid body MD5\n")
        }
    }

    @Test("A path is signed as sent, or percent-decoded")
    func paths() async throws {
        try await TestBroker.run { broker in
            let (client, _) = try await broker.connected()
            try await client.subscribe(to: "a=b,c")
            for (path, signed) in [
                ("a=b,c", "a=b,c"), ("a%3Db%2Cc", "a%3Db%2Cc"), ("a%3Db%2Cc", "a=b,c"),
                ("%61%3db,c", "a=b,c"),
            ] {
                let request = HandSignedRequest(
                    path: "/apps/1/channels/\(path)",
                    signedPath: "/apps/1/channels/\(signed)"
                )
                let answer = try await broker.ask(request)
                #expect(answer.body == #"{"occupied":true}"#, "\(path) as \(signed)")
            }
            let other = HandSignedRequest(
                path: "/apps/1/channels/a%3Db",
                signedPath: "/apps/1/channels/a%3Dc"
            )
            #expect(try await broker.ask(other).status == 401)
        }
    }

    @Test("Behind a configured prefix the path may be signed with it and without it")
    func prefix() async throws {
        try await TestBroker.run {
            $0.pathPrefix = "/push"
        } _: { broker in
            for (signed, status) in [
                ("/push/apps/1/channels", 200), ("/apps/1/channels", 200),
                ("/pushapps/1/channels", 401),
            ] {
                let request = HandSignedRequest(path: "/push/apps/1/channels", signedPath: signed)
                let answer = try await broker.ask(request)
                #expect(answer.status == status)
            }
        }
    }

    @Test(
        "A timestamp within ten minutes of the server's clock is accepted, on either side",
        arguments: [(-630, 401), (-570, 200), (570, 200), (630, 401)]
    )
    func timestamps(offset: Int, status: Int) async throws {
        try await TestBroker.run { broker in
            var request = list
            request.timestamp = "\(time(nil) + offset)"
            let answer = try await broker.ask(request)
            #expect(answer.status == status)
            if status == 401 {
                #expect(
                    answer.body.wholeMatch(
                        of:
                            /Timestamp expired: Given timestamp \(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\) not within 600s of server time \(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)\n/
                    ) != nil,
                    "\(answer.body)"
                )
            }
        }
    }

    @Test("Each failure of a signature is 401 with the text of the hosted service, and one newline")
    func failures() async throws {
        try await TestBroker.run {
            $0.apps.append(.init(id: "2", key: "second-key", secret: "app-secret"))
        } _: { broker in
            func refusal(_ change: (inout HandSignedRequest) -> Void) async throws -> String {
                var request = trigger
                change(&request)
                let answer = try await broker.ask(request)
                #expect(answer.status == 401)
                let head = answer.head.lowercased()
                #expect(head.contains("content-type: text/plain; charset=utf-8\r\n"))
                #expect(!answer.body.contains("app-secret"))
                return answer.body
            }
            let keyless = try await refusal { $0.key = nil }
            #expect(keyless == "Missing parameter: auth_key\n")
            #expect(try await refusal { $0.key = "other" } == "Unknown auth_key\n")
            #expect(
                try await refusal { $0.key = "second-key" }
                    == "The auth_key is not one of the app in the path\n"
            )
            #expect(try await refusal { $0.version = nil } == "Version required\n")
            #expect(try await refusal { $0.version = "2.0" } == "Version not supported\n")
            #expect(try await refusal { $0.timestamp = nil } == "Timestamp required\n")
            #expect(try await refusal { $0.timestamp = "now" }.hasPrefix("Invalid timestamp"))
            #expect(try await refusal { $0.bodyMD5 = "" } == "Missing parameter: body_md5\n")
            let otherDigest = String(repeating: "0", count: 32)
            #expect(try await refusal { $0.bodyMD5 = otherDigest } == "Invalid body MD5\n")
            #expect(
                try await refusal { $0.signedPath = "/apps/1/elsewhere" }.hasPrefix(
                    #"Invalid signature: you should have sent HmacSHA256Hex("POST\n/apps/1/events\nauth_key=app-key&auth_timestamp="#
                )
            )
        }
    }
}
