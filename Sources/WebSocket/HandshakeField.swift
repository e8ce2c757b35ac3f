/// A header field of the opening handshake.
public struct HandshakeField: Hashable, Sendable {
    /// The name, in its usual capitalization.
    public let name: String
    /// The value.
    public let value: String

    /// Makes a field; neither part may contain a line break.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// Returns a start line with fields and the empty line.
    static func head(_ startLine: String, _ fields: [HandshakeField]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            fields.reduce(startLine.utf8.count + 4) {
                $0 + $1.name.utf8.count + $1.value.utf8.count + 4
            }
        )
        bytes.append(contentsOf: startLine.utf8)
        for field in fields {
            bytes.append(contentsOf: "\r\n".utf8)
            bytes.append(contentsOf: field.name.utf8)
            bytes.append(contentsOf: ": ".utf8)
            bytes.append(contentsOf: field.value.utf8)
        }
        bytes.append(contentsOf: "\r\n\r\n".utf8)
        return bytes
    }
}
