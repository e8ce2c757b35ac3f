import FuzzTargets
import SQLite

/// A whole shard, from its sockets on: the first byte chooses what keeps its messages, then each operation is a byte with
/// its arguments.
///
/// Messages of clients, requests of backends, replies of Redis and rows of the file have numbers and texts at their edges.
/// Nothing ends the process, is answered with 500, takes a second or keeps a file from being opened; at the end, the shard
/// still answers, and serves a client.
enum ShardFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        let store: FuzzedShard.Store = [.memory, .redis, .file, .redis][Int(choices.byte() & 3)]
        guard let shard = try? FuzzedShard(store) else { return }
        try shard.start()
        _ = try? shard.connect()
        var count = 0
        while !choices.isEmpty, count < 40 {
            try operate(shard, &choices)
            count += 1
        }
        shard.calmDown()
        let status = try shard.request("GET", "/live", isSigned: false)
        try expect(status == 200, "/live: \(status.map(String.init) ?? "no answer")")
        try expect((try? shard.connect()) == true, "no greeting for the last client")
    }

    private static func operate(
        _ shard: FuzzedShard,
        _ choices: inout Choices
    ) throws(Finding) {
        switch choices.byte() & 0x0F {
        case 0...4:
            let template = choices.element(of: ShardMessages.client)
            try shard.send(filled(template, shard, &choices))
        case 5, 6:
            let (channel, template) = choices.element(of: ShardMessages.signed)
            let data = template.map { filled($0, shard, &choices) }
            let event = channel == nil ? "pusher:signin" : "pusher:subscribe"
            try shard.send(
                Array(#"{"event":"\#(event)","data":{"#.utf8)
                    + shard.authorization(channel: channel, data: data) + Array("}}".utf8)
            )
        case 7...10:
            let request = choices.element(of: ShardMessages.requests)
            let path = percentEncoded(filled(request.path, shard, &choices), keeping: "/")
            var parameters: [(String, [UInt8])] = []
            for (name, value) in request.parameters {
                parameters.append((name, filled(value, shard, &choices)))
            }
            try shard.request(
                request.method,
                "/apps/1" + path,
                parameters,
                body: filled(request.body, shard, &choices)
            )
        case 11: try shard.send(choices.bytes())
        case 12:
            let target = filled("/r/#-0123456789abcdef01/app/app-key?protocol=#", shard, &choices)
            _ = try? shard.connect(Array(percentEncoded(target, keeping: "/?=").utf8))
        case 13: shard.advance(Int64(choices.byte()) * 100)
        case 14: shard.jump(choices.element(of: [-3_600, -1, 1, 60, 3_600, 1 << 31]))
        case _ where shard.file != nil: try change(shard, &choices)
        default:
            let place = Int(choices.byte())
            let isNumber = choices.byte() & 3 != 0
            let bytes =
                isNumber
                ? Array(choices.element(of: EdgeValues.numbers).utf8)
                : choices.element(of: EdgeValues.texts)
            shard.add(.init(skipped: place >> 4, place: place & 0x0F, bytes: bytes))
        }
    }

    /// Changes rows of the file, while it is open or between two runs.
    private static func change(_ shard: FuzzedShard, _ choices: inout Choices) throws(Finding) {
        let flags = choices.byte()
        var edits: [FuzzedFile.Edit] = []
        for _ in 0...Int(flags >> 5) {
            let (column, row) = (Int(choices.byte()), Int(choices.byte()))
            var edit = FuzzedFile.Edit(column: column, row: row, value: .null)
            let kind = choices.byte() & 7
            if kind < 5 {
                let text = choices.element(of: EdgeValues.numbers)
                edit.value = Int64(text).map { .integer($0) } ?? .text(text)
            } else if kind < 7 {
                edit.value = .blob(choices.element(of: EdgeValues.texts)[...])
                edit.isText = kind == 5
            }
            edits.append(edit)
        }
        if flags & 1 == 0 {
            shard.file?.edit(edits)
        } else {
            try shard.restart(edits, isStopped: flags & 2 != 0, isFormer: flags & 4 != 0)
        }
    }

    /// A template with values in the places of its signs.
    private static func filled(
        _ template: String,
        _ shard: FuzzedShard,
        _ choices: inout Choices
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        for byte in template.utf8 {
            switch byte {
            case UInt8(ascii: "#"): bytes += Array(choices.element(of: EdgeValues.numbers).utf8)
            case UInt8(ascii: "$"): bytes += choices.element(of: EdgeValues.texts)
            case UInt8(ascii: "@"): bytes += Array(shard.stream.utf8)
            default: bytes.append(byte)
            }
        }
        return bytes
    }
}

extension Choices {
    /// One of some values, chosen by a byte.
    mutating func element<Element>(of elements: [Element]) -> Element {
        elements[index(below: elements.count)]
    }
}
