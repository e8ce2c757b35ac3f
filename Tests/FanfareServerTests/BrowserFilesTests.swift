import BrokerConfiguration
import Testing

@testable import BrowserClient
@testable import FanfareServer

@Suite("The files for browsers") struct BrowserFilesTests {
    @Test(
        arguments: [
            ("/fanfare.js", "text/javascript; charset=utf-8", "export class Fanfare "),
            ("/fanfare-pusher.js", "text/javascript; charset=utf-8", "globalThis.fanfareRecovery"),
            ("/fanfare-encrypted.js", "text/javascript; charset=utf-8", "export function decrypt("),
            ("/fanfare-history.js", "text/javascript; charset=utf-8", "async function history("),
            ("/fanfare-live.js", "text/javascript; charset=utf-8", "export class LiveList "),
            ("/fanfare-react.js", "text/javascript; charset=utf-8", "export function useChannel("),
            ("/fanfare-vue.js", "text/javascript; charset=utf-8", "export function useChannel("),
            ("/fanfare.d.ts", "application/typescript; charset=utf-8", "export class Fanfare<"),
            (
                "/fanfare-pusher.d.ts", "application/typescript; charset=utf-8",
                "function fanfareRecovery("
            ),
        ]
    )
    func pagesOfAnyOriginLoad(path: String, type: String, text: String) async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            let answer = try await wire.get(path, "Origin: https://a.test\r\n")
            #expect(answer.status == 200)
            #expect(answer.body.contains(text))
            #expect(answer.field("content-type") == type)
            #expect(answer.field("access-control-allow-origin") == "*")
            #expect(answer.field("x-content-type-options") == "nosniff")
            #expect(answer.field("cache-control") == "no-cache")
        }
    }

    @Test("The client is at most 8 KB for a browser, and each framework's part 1 KB") func sizes() {
        let maxima = ["fanfare.js": 8192, "fanfare-react.js": 1024, "fanfare-vue.js": 1024]
        for file in BrowserFile.all {
            guard let maximum = maxima[file.name] else { continue }
            #expect(file.gzipped.count <= maximum, "\(file.name)")
        }
    }

    @Test("A URL with the present version is cached for a year, any other is revalidated")
    func versions() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            for file in BrowserFile.all {
                let present = try await wire.get("/\(file.name)?v=\(BrowserFile.version)")
                #expect(present.field("cache-control") == "public, max-age=31536000, immutable")
                let other = try await wire.get("/\(file.name)?v=0.1.0")
                #expect(other.status == 200)
                #expect(other.field("cache-control") == "no-cache")
                #expect(other.body == present.body)
            }
            let version = "export const VERSION=\"\(BrowserFile.version)\";"
            #expect(try await wire.get("/fanfare.js").body.contains(version))
        }
    }

    @Test(
        "Who has the file gets 304 without it (RFC 9110 §13.1.2)",
        arguments: [
            ("TAG", true), ("W/TAG", true), ("\"a\", TAG", true), ("\"a\",\tW/TAG ", true),
            ("*", true),
            ("\"a\"", false), ("", false), ("TAGx", false),
        ]
    )
    func revalidates(field: String, isKnown: Bool) async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            let file = try await wire.get("/fanfare.js")
            let tag = try #require(file.field("etag"))
            #expect(tag.wholeMatch(of: /"[0-9a-f]{16}"/) != nil)
            let asked = field.replacing("TAG", with: tag)
            let answer = try await wire.get("/fanfare.js", "If-None-Match: \(asked)\r\n")
            #expect(answer.status == (isKnown ? 304 : 200))
            #expect(answer.body == (isKnown ? "" : file.body))
            #expect(answer.field("etag") == tag)
            #expect(answer.field("access-control-allow-origin") == "*")
        }
    }

    @Test("Compressed for those who ask for it, with a tag of its own (RFC 9110 §8.8.3.3)")
    func compresses() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            let plain = try await wire.get("/fanfare.js", "Accept-Encoding: br\r\n")
            #expect(plain.field("content-encoding") == nil)
            let fields = "Accept-Encoding: br, gzip\r\n"
            let tag = try #require(plain.field("etag")).replacing(/"$/, with: "-gzip\"")
            try wire.send("GET /fanfare.js HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
            let head = try await wire.read(through: "\r\n\r\n")
            let answer = Answer(status: 200, head: head, body: "")
            #expect(answer.field("content-encoding") == "gzip")
            #expect(answer.field("etag") == tag)
            let length = try #require(answer.field("content-length").flatMap { Int($0) })
            #expect(length < plain.body.utf8.count / 2)
            let bytes = try await wire.read(length)
            #expect(bytes.starts(with: [0x1F, 0x8B, 8]))
            for answer in [plain, answer] { #expect(answer.field("vary") == "Accept-Encoding") }
            let known = try await wire.get("/fanfare.js", "\(fields)If-None-Match: \(tag)\r\n")
            #expect(known.status == 304)
        }
    }

    @Test("HEAD has the fields of GET, OPTIONS and 405 name the methods")
    func methods() async throws {
        try await TestBroker.run { broker in
            let wire = try Wire(port: broker.port)
            try wire.send("HEAD /fanfare.js HTTP/1.1\r\nHost: h\r\n\r\n")
            let head = try await wire.read(through: "\r\n\r\n")
            // The connection is in step: the answer had no content.
            let file = try await wire.get("/fanfare.js")
            let length = "\r\nContent-Length: \(file.body.utf8.count)\r\n"
            #expect(head.hasPrefix("HTTP/1.1 200 OK\r\n") && head.contains(length))
            try wire.send("OPTIONS /fanfare.js HTTP/1.1\r\nHost: h\r\n\r\n")
            let options = try await wire.answer()
            #expect(options.status == 204)
            #expect(options.field("allow") == "GET, HEAD, OPTIONS")
            try wire.send("DELETE /fanfare.js HTTP/1.1\r\nHost: h\r\n\r\n")
            let refusal = try await wire.answer()
            #expect(refusal.status == 405)
            #expect(refusal.field("allow") == "GET, HEAD")
        }
    }

    @Test("They are below the path prefix, and nothing else is there")
    func prefix() async throws {
        try await TestBroker.run({ $0.pathPrefix = "/push" }) { broker in
            let wire = try Wire(port: broker.port)
            #expect(try await wire.get("/push/fanfare.js").status == 200)
            for path in [
                "/fanfare", "/fanfare.js/", "/fanfare.jsx", "/fanfare-pusher", "/x/fanfare.js",
            ] {
                #expect(try await wire.get(path).status == 404, "\(path)")
            }
        }
    }

    @Test("Parts become one file without imports, comments and clashes of exports")
    func joinsParts() {
        let main = """
            // What it is.

            import { b } from "./b.js";

            /**
             * A.
             */
            export const a = [
              b,  // b
            ];

            """
        let parts = ScriptParts(
            main: Array(main.utf8),
            others: [Array("/** B. */\nexport const b = 1;\n".utf8)]
        )
        #expect(
            String(decoding: parts.module, as: UTF8.self)
                == "// What it is.\n\nconst b=1;export const a=[\nb,  // b\n];\n"
        )
        #expect(
            String(decoding: parts.script, as: UTF8.self)
                == "// What it is.\n\n(()=>{\"use strict\";const b=1;const a=[\nb,  // b\n];})();\n"
        )
    }

    @Test(
        "Space that means nothing is left out, and no other",
        arguments: [
            ("if (a === b) return { c: [ 1, 2 ] };", "if(a===b)return{c:[1,2]};"),
            (
                "const d = (e) => e ? `${f} = { g }` : \" = \\\" = \";",
                "const d=(e)=>e?`${f} = { g }`:\" = \\\" = \";"
            ),
            ("for (const h of i) j - -k + +l;", "for(const h of i)j - -k + +l;"),
        ]
    )
    func space(line: String, expected: String) {
        let parts = ScriptParts(main: Array("\(line)\n".utf8), others: [])
        #expect(String(decoding: parts.module, as: UTF8.self) == "\n\(expected)\n")
    }

    @Test("Private names become short ones") func privateNames() {
        let main = """
            class A {
              #first = 1;
              get #second() {
                return "#other" + this.#first + b.#other;
              }
            }

            """
        let parts = ScriptParts(main: Array(main.utf8), others: [])
        #expect(
            String(decoding: parts.module, as: UTF8.self)
                == "\nclass A{#_0=1;get #_1(){return \"#other\" + this.#_0 + b.#other;}}\n"
        )
    }

    @Test("An import of another package stays") func otherPackages() {
        let parts = ScriptParts(
            main: Array("import a from \"a\";\nimport b from \"./b.js\";\n".utf8),
            others: []
        )
        #expect(String(decoding: parts.module, as: UTF8.self) == "\nimport a from \"a\";\n")
    }
}

extension Answer {
    /// The value of a field.
    fileprivate func field(_ name: String) -> String? {
        head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }
}

extension Wire {
    /// Sends a GET with further fields, and waits for the answer.
    fileprivate func get(_ target: String, _ fields: String = "") async throws -> Answer {
        try send("GET \(target) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n")
        return try await answer()
    }
}
