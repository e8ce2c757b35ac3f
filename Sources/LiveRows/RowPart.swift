/// Encodes some members of a row; named members that the row does not encode are `null`.
///
/// The values are encoded by the given encoder, with its strategies.
struct RowPart<Row: Encodable>: Encodable {
    let row: Row
    let names: Set<String>

    func encode(to encoder: any Encoder) throws {
        let filter = MemberFilter(encoder, names)
        try row.encode(to: filter)
        guard filter.encoded.isKeyed else { return }
        var container = encoder.container(keyedBy: MemberName.self)
        for name in names.subtracting(filter.encoded.names).sorted() {
            try container.encodeNil(forKey: MemberName(stringValue: name))
        }
    }
}

/// The name of a member.
private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// An encoder that forwards the named members of a keyed container, and drops the others.
private struct MemberFilter: Encoder {
    final class Encoded {
        var names: Set<String> = []
        var isKeyed = false
    }

    private let encoder: any Encoder
    private let names: Set<String>
    let encoded = Encoded()

    init(_ encoder: any Encoder, _ names: Set<String>) {
        self.encoder = encoder
        self.names = names
    }

    var codingPath: [any CodingKey] { encoder.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { encoder.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        encoded.isKeyed = true
        return KeyedEncodingContainer(
            FilteredContainer(encoder.container(keyedBy: type), names, encoded)
        )
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { encoder.unkeyedContainer() }

    // A row that encodes itself as another value is encoded as a whole.
    func singleValueContainer() -> any SingleValueEncodingContainer {
        encoder.singleValueContainer()
    }
}

/// A keyed container that drops all but the named members.
private struct FilteredContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
    private var container: KeyedEncodingContainer<Key>
    private let names: Set<String>
    private let encoded: MemberFilter.Encoded

    init(
        _ container: KeyedEncodingContainer<Key>,
        _ names: Set<String>,
        _ encoded: MemberFilter.Encoded
    ) {
        self.container = container
        self.names = names
        self.encoded = encoded
    }

    var codingPath: [any CodingKey] { container.codingPath }

    private func keeps(_ key: Key) -> Bool {
        guard names.contains(key.stringValue) else { return false }
        encoded.names.insert(key.stringValue)
        return true
    }

    mutating func encodeNil(forKey key: Key) throws {
        if keeps(key) { try container.encodeNil(forKey: key) }
    }

    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Bool, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: String, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Double, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Float, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Int, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Int8, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Int16, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Int32, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: Int64, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: UInt, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: UInt8, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: UInt16, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: UInt32, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    mutating func encode(_ value: UInt64, forKey key: Key) throws {
        if keeps(key) { try container.encode(value, forKey: key) }
    }

    // A nested container cannot be dropped: the member is encoded although it has not changed.

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoded.names.insert(key.stringValue)
        return container.nestedContainer(keyedBy: type, forKey: key)
    }

    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoded.names.insert(key.stringValue)
        return container.nestedUnkeyedContainer(forKey: key)
    }

    mutating func superEncoder() -> any Encoder { container.superEncoder() }

    mutating func superEncoder(forKey key: Key) -> any Encoder {
        encoded.names.insert(key.stringValue)
        return container.superEncoder(forKey: key)
    }
}
