import Foundation
import PusherProtocol
import Testing

@testable import FanfareClient

/// The vectors that all clients pass, with the values of a session; `Tests/vectors/run.mjs` runs them with the others.
///
/// Their format is described in `docs/internals/clients.md`. Those of the states are in ``StateVectorTests``.
@Suite("Vectors of all clients") struct VectorTests {
    @Test(
        "Each step has the effects that the vector names",
        arguments: ["tracking", "positions", "left", "channels", "reconnection", "outbox"]
    )
    func vectors(file: String) throws {
        let vectors = try Vector.read(file)
        #expect(!vectors.isEmpty)
        // The shortest and the longest random delays.
        for bits in [UInt64(1 << 10), .max] {
            for vector in vectors {
                var player = VectorPlayer(bits)
                for (index, step) in vector.steps.enumerated() {
                    let seen = try player.play(step)
                    let expected = step.expected
                    guard let name = expected.keys.first(where: { seen[$0] != expected[$0] }) else {
                        continue
                    }
                    let values = "\(seen[name] ?? .null), not \(expected[name] ?? .null)"
                    Issue.record(
                        "\(file), \(vector.name), step \(index + 1) \(step): \(name) are \(values)"
                    )
                    break
                }
            }
        }
    }
}

/// A vector: the steps of an app, its broker and the time, and what the client does.
struct Vector: Decodable {
    var name: String
    var clients: [String]?
    var steps: [VectorStep]

    /// Reads the vectors of a file that Swift runs.
    static func read(_ file: String) throws -> [Vector] {
        let url = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../vectors/\(file).json")
        return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: url))
            .filter { $0.clients?.contains("swift") ?? true }
    }
}

/// A step: one action with its argument, and what is expected of it.
struct VectorStep: Decodable, CustomStringConvertible {
    private static let lists = ["sends", "delivers", "asks"]
    private static let others = ["loads", "errors", "result", "opens", "position"]

    var action: String
    var argument: JSON
    private var members: [String: JSON]

    init(from decoder: any Decoder) throws {
        members = try [String: JSON](from: decoder)
        let name = members.keys.first { !Self.lists.contains($0) && !Self.others.contains($0) }
        action = name ?? ""
        argument = members[action] ?? .null
    }

    /// The expected values by name; absent lists are empty, and `"any"` is not checked.
    var expected: [String: JSON] {
        var expected = members.filter { Self.others.contains($0.key) && $0.key != "loads" }
        for name in Self.lists {
            let value = members[name] ?? .array([])
            if value != .string("any") { expected[name] = value }
        }
        return expected
    }

    var delivers: [String] { members["delivers"]?.array.compactMap(\.string) ?? [] }
    var loads: Int { members["loads"]?.integer ?? 0 }
    var description: String { "\(action) \(argument)" }
}

/// A value of JSON.
enum JSON: Codable, Equatable, CustomStringConvertible {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    init(parsing text: [UInt8]) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    var description: String { text }
    var string: String? { if case .string(let value) = self { value } else { nil } }
    var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    var array: [JSON] { if case .array(let value) = self { value } else { [] } }
    var object: [String: JSON] { if case .object(let value) = self { value } else { [:] } }

    subscript(name: String) -> JSON? { object[name] }
    subscript(index: Int) -> JSON? { array.indices.contains(index) ? array[index] : nil }

    /// The position `[stream, serial]`.
    var position: ChannelPosition? {
        guard let stream = self[0]?.string, let serial = self[1]?.integer else { return nil }
        return ChannelPosition(stream: stream, serial: UInt64(serial))
    }
}

/// Plays vectors with a session whose time passes by steps.
private struct VectorPlayer {
    /// The random bits of all delays.
    private struct Constant: RandomNumberGenerator {
        let bits: UInt64
        mutating func next() -> UInt64 { bits }
    }

    private var session: ClientSession
    private var now = Duration.zero
    private var timer: Duration?
    private var alarms: [SessionAlarm: Duration] = [:]
    private var connectionCount = 0
    private var isOpening = false
    private var authorization = "granted"
    /// The keys of the sent events, in the order of their appearance.
    private var keys: [String] = []
    private var keyCount = 0

    private var sends: [JSON] = []
    private var delivers: [String] = []
    private var asks: [String] = []
    private var errors = 0
    private var result: Bool?

    init(_ bits: UInt64) {
        var settings = ClientSession.Settings(
            endpoint: SessionDriver.endpoint,
            activityTimeout: .seconds(120),
            pongTimeout: .seconds(30),
            connectTimeout: .seconds(15),
            backoff: Backoff()
        )
        settings.authorizes = true
        settings.decrypter = ReversingDecrypter()
        session = ClientSession(settings: settings, generator: Constant(bits: bits))
        act { session, _ in session.connect() }
    }

    /// Plays a step, and returns what the client did.
    mutating func play(_ step: VectorStep) throws -> [String: JSON] {
        (sends, delivers, asks, errors, result) = ([], [], [], 0, nil)
        try perform(step.action, step.argument)
        var seen: [String: JSON] = [
            "sends": .array(sends), "delivers": .array(delivers.map(JSON.string)),
            "asks": .array(asks.map(JSON.string)), "errors": .integer(errors),
            "opens": .bool(isOpening),
        ]
        if let result { seen["result"] = .bool(result) }
        if let positions = step.expected["position"] {
            seen["position"] = .object(
                positions.object.keys.reduce(into: [:]) { $0[$1] = position(of: $1) }
            )
        }
        return seen
    }

    private func position(of channel: String) -> JSON {
        guard let position = session.subscriptions[of: channel]?.tracking.position else {
            return .null
        }
        return .array([.string(position.stream), .integer(Int(position.serial))])
    }

    private mutating func perform(_ action: String, _ argument: JSON) throws {
        let channel = argument.string ?? argument[0]?.string ?? ""
        switch action {
        case "subscribe":
            let options = argument[1]
            let rewind = options?["rewind"].flatMap { rewind -> Rewind? in
                if let count = rewind["count"]?.integer { return .count(count) }
                return rewind["seconds"]?.integer.map { .seconds($0) }
            }
            let origin = ChannelTracking(origin: options?["position"]?.position, rewind)
            act {
                let isFresh = options?["fresh"] == .bool(true)
                return $0.subscribe(to: channel, from: origin, fresh: isFresh, at: $1)
            }
        case "unsubscribe": act { $0.unsubscribe(from: channel, at: $1) }
        case "connect": act { session, _ in session.connect() }
        case "disconnect": act { session, _ in session.disconnect() }
        case "authorize": authorization = channel
        case "trigger":
            try trigger(argument[1]?.string ?? "", on: channel, argument[2] ?? .null)
        case "open":
            wait(.seconds(60), until: \.isOpening)
            connectionCount += 1
            isOpening = false
            var data: [String: JSON] = [
                "socket_id": .string("\(connectionCount).1"), "activity_timeout": .integer(120),
            ]
            data["receipts"] = argument["receipts"]
            receive("pusher:connection_established", ["data": .string(JSON.object(data).text)])
        case "ack":
            let data = JSON.string(argument[1]?.text ?? "{}")
            receive(
                "pusher_internal:subscription_succeeded",
                ["channel": .string(channel), "data": data]
            )
        case "event":
            var members: [String: JSON] = ["channel": .string(channel)]
            members["data"] = .string(argument[1]?.text ?? "")
            if argument[1] != .null { members["serial"] = argument[1] }
            receive("e", members)
        case "receipt":
            var members: [String: JSON] = ["channel": .string(channel)]
            members["key"] = .string(keys[(argument[1]?.integer ?? 0) - 1])
            members["serial"] = argument[2]
            receive("pusher_internal:position", members)
        case "receive": receive(argument)
        case "cut":
            let code = UInt16(argument.integer ?? 0)
            let closure = TransportClosure.closeFrame(code: code, reason: "")
            isOpening = false
            act { $0.closed(code == 1006 ? .cut(reason: "") : closure, at: $1) }
        case "wait": wait(.milliseconds(argument.integer ?? 0)) { _ in false }
        case "until":
            wait(.milliseconds(argument.integer ?? 0)) {
                $0.isOpening || !$0.sends.isEmpty || !$0.asks.isEmpty
            }
        default: Issue.record("\(action) is not a step")
        }
    }

    private mutating func trigger(_ name: String, on channel: String, _ data: JSON) throws {
        keyCount += 1
        let key = IdempotencyKey("key-\(keyCount)")
        let json = Array(data.text.utf8)
        do throws(FanfareError) {
            perform(
                try session.trigger(name, on: channel, json: json, key: key, at: now).effects
            )
            result = true
        } catch {
            result = false
        }
    }

    private mutating func receive(_ event: String, _ members: [String: JSON]) {
        receive(.object(members.merging(["event": .string(event)]) { $1 }))
    }

    private mutating func receive(_ message: JSON) {
        do {
            let message = try ServerMessage.parse(Array(message.text.utf8).span)
            act { $0.receive(message, at: $1) }
        } catch {
            act { $0.receiveInvalid("\(error)", at: $1) }
        }
    }

    // MARK: Time and effects

    /// Lets time pass up to a limit, or until a condition holds after a timer.
    private mutating func wait(_ time: Duration, until isOver: (VectorPlayer) -> Bool) {
        let end = now + time
        while !isOver(self) {
            let alarm = alarms.min { $0.value < $1.value }
            let next = [timer, alarm?.value].compactMap(\.self).min()
            guard let next, next <= end else {
                now = end
                return
            }
            now = max(now, next)
            if let alarm, alarm.value == next {
                alarms[alarm.key] = nil
                act { $0.alarmFired(alarm.key, at: $1) }
            } else {
                timer = nil
                act { $0.timerFired(at: $1) }
            }
        }
    }

    private mutating func act(_ input: (inout ClientSession, Duration) -> [SessionEffect]) {
        perform(input(&session, now))
    }

    private mutating func perform(_ effects: [SessionEffect]) {
        for effect in effects { perform(effect) }
        for case .authorize(let ticket, let channel, _) in effects {
            asks.append(channel)
            let outcome: Result<ChannelAuthorization, AuthorizationFailure> =
                switch authorization {
                case "refused": .failure(.refused(status: 403, body: ""))
                case "fails": .failure(.failed("away for a moment"))
                default:
                    .success(
                        ChannelAuthorization(
                            auth: "a",
                            channelData: channel.hasPrefix("presence-")
                                ? #"{"user_id":"me"}"# : nil,
                            sharedSecret: "k"
                        )
                    )
                }
            act { session, _ in session.authorized(ticket, outcome) }
        }
    }

    private mutating func perform(_ effect: SessionEffect) {
        switch effect {
        case .open: isOpening = true
        case .close: isOpening = false
        case .send(let message): sends.append(sent(message))
        case .startTimer(let time): timer = now + time
        case .stopTimer: timer = nil
        case .startAlarm(let alarm, let time): alarms[alarm] = now + time
        case .stopAlarm(let alarm): alarms[alarm] = nil
        case .deliver(let event, _): deliver(event)
        // Told once its events have arrived.
        case .continuity(_, .resumed, _): break
        case .continuity(let channel, let continuity, _):
            delivers.append("\(channel): \(continuity.vectorText)")
        case .recovered(let channel, let count): delivers.append("\(channel): resumed \(count)")
        case .leaseGap(let channel, LeaseStart.own, let gap, _, _):
            delivers.append("\(channel): \(Continuity.gap(gap).vectorText)")
        case .report: errors += 1
        default: break
        }
    }

    private mutating func deliver(_ event: ChannelEvent) {
        let data = (try? JSON(parsing: Array((event.data ?? "").utf8))) ?? .null
        let text: String? =
            switch event.name {
            case "pusher:subscription_succeeded": nil
            case "pusher:subscription_error": "refused \(data["type"]?.string ?? "")"
            case "pusher:cache_miss": "cache miss"
            case "pusher:subscription_count": "count \(data["subscription_count"] ?? .null)"
            case "pusher:member_added": "joined \(data["user_id"]?.string ?? "")"
            case "pusher:member_removed": "left \(data["user_id"]?.string ?? "")"
            default: "\(event.name) \(data)"
            }
        if let text { delivers.append("\(event.channel ?? ""): \(text)") }
    }

    /// A sent message without signatures, as the vectors have it.
    private mutating func sent(_ message: ClientMessage) -> JSON {
        var text: [UInt8] = []
        message.append(to: &text)
        guard var members = (try? JSON(parsing: text))?.object,
            let event = members["event"]?.string
        else { return .null }
        var data = members["data"]?.object ?? [:]
        switch event {
        case "pusher:subscribe":
            data["subscribe"] = data.removeValue(forKey: "channel")
            data["auth"] = nil
            data["channel_data"] = nil
            return .object(data)
        case "pusher:unsubscribe": return .object(["unsubscribe": data["channel"] ?? .null])
        case let event where event.hasPrefix("pusher:"):
            return .object([String(event.dropFirst("pusher:".count)): .bool(true)])
        default:
            guard let key = members["key"]?.string else { return .object(members) }
            if !keys.contains(key) { keys.append(key) }
            members["key"] = .integer((keys.firstIndex(of: key) ?? 0) + 1)
            return .object(members)
        }
    }
}

extension Continuity {
    /// The text in the vectors; a rewound subscription is one that began.
    fileprivate var vectorText: String {
        switch self {
        case .began, .rewound: "began"
        case .unknown: "unknown"
        case .resumed(let count): "resumed \(count)"
        case .gap(let gap):
            "gap \(gap.reason)\(gap.missed.map { " \($0)" } ?? "")"
        }
    }
}
