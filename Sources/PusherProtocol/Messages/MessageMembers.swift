import Primitives

/// The members of a message that the protocol defines, as ranges of its text.
struct MessageMembers {
    private(set) var event: JSONValue?
    private(set) var channel: JSONValue?
    private(set) var data: JSONValue?
    private(set) var userID: JSONValue?
    private(set) var key: JSONValue?
    private(set) var serial: JSONValue?

    /// Validates a whole message.
    init(_ text: Span<UInt8>, depthMax: Int) throws(MessageError) {
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: depthMax)
            try scanner.beginObject(in: text)
            while let name = try scanner.nextName(in: text) {
                let value = try scanner.value(in: text)
                if name.equals("event", in: text) { event = value }
                if name.equals("channel", in: text) { channel = value }
                if name.equals("data", in: text) { data = value }
                if name.equals("user_id", in: text) { userID = value }
                if name.equals("key", in: text) { key = value }
                if name.equals("serial", in: text) { serial = value }
            }
            try scanner.finish(in: text)
        } catch {
            guard (try? JSONScanner.scan(text, depthMax: depthMax)) == nil else {
                throw .notAnObject
            }
            throw .json(error)
        }
    }

    /// The number of an event in its channel's stream; `nil` if it has none.
    func serial(in text: Span<UInt8>) -> UInt64? {
        guard let serial, serial.kind == .number else { return nil }
        return UInt64(serial.string(in: text))
    }
}

/// The data of a broker's control event: an object, or a string that holds one.
struct MessageData {
    private let text: [UInt8]
    /// The members in the given order; an array, because there are few and each is looked up once.
    private var members: [(name: JSONValue, value: JSONValue)] = []

    private init() { text = [] }

    /// Parses the data of a message; absent data has no members.
    init(
        _ message: MessageMembers,
        in text: Span<UInt8>,
        depthMax: Int
    ) throws(MessageError) {
        guard let data = message.data, data.kind != .null else {
            self.init()
            return
        }
        try self.init(data.decoded(in: text), depthMax: depthMax)
    }

    /// Parses an object.
    init(
        _ text: [UInt8],
        depthMax: Int = JSONScanner.depthMaxDefault
    ) throws(MessageError) {
        self.text = text
        members.reserveCapacity(4)
        do throws(JSONError) {
            var scanner = JSONScanner(depthMax: depthMax)
            try scanner.beginObject(in: text.span)
            while let name = try scanner.nextName(in: text.span) {
                members.append((name, try scanner.value(in: text.span)))
            }
            try scanner.finish(in: text.span)
        } catch {
            throw .notAnObject
        }
    }

    /// The last of the members named `name`.
    private subscript(name: StaticString) -> JSONValue? {
        members.last { $0.name.equals(name, in: text.span) }?.value
    }

    /// Returns a member that is a string, otherwise `nil`.
    func string(_ name: StaticString) -> String? {
        guard let value = self[name], value.kind == .string else { return nil }
        return value.string(in: text.span)
    }

    /// Returns a member that is an integer, otherwise `nil`.
    func integer(_ name: StaticString) -> Int? {
        guard let value = self[name], value.kind == .number else { return nil }
        return Int(value.string(in: text.span))
    }

    /// Returns a member that is `true` or `false`, otherwise `nil`.
    func boolean(_ name: StaticString) -> Bool? {
        guard case .boolean(let value) = self[name]?.kind else { return nil }
        return value
    }

    /// Returns a member that is an object, otherwise `nil`.
    func object(_ name: StaticString) -> MessageData? {
        guard let value = self[name], value.kind == .object else { return nil }
        return try? MessageData(value.token(in: text.span))
    }

    /// Whether there are no members.
    var isEmpty: Bool { members.isEmpty }

    /// Returns a member as JSON text, or `nil`.
    func json(_ name: StaticString) -> [UInt8]? { self[name]?.token(in: text.span) }
}
