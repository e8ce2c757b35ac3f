/// Consecutive operations of one replica that are sent together.
///
/// Apps and backends store and transmit it unchanged; <doc:SharedText> describes its JSON.
public struct TextBatch: Hashable, Sendable, Codable {
    /// The number of compactions of the text before the batch; see ``TextAuthority``.
    package var epoch: UInt64
    /// The replica of the operations.
    package var replica: ReplicaID
    /// The number of the first operation.
    ///
    /// A replica numbers its steps from 1: each typed scalar and each deleted range is one step.
    package var number: UInt64
    /// The operations, numbered consecutively.
    package var operations: [TextOperation]

    /// Creates a batch of operations, of which the first has the given number.
    package init(epoch: UInt64, replica: ReplicaID, number: UInt64, operations: [TextOperation]) {
        self.epoch = epoch
        self.replica = replica
        self.number = number
        self.operations = operations
    }

    /// The number of the replica's next operation.
    package var nextNumber: UInt64 { operations.reduce(number) { $0 + $1.numberCount } }

    /// Returns the batch without the operations up to the number `last`.
    func after(_ last: UInt64) -> TextBatch {
        guard last >= number else { return self }
        var rest = TextBatch(epoch: epoch, replica: replica, number: last + 1, operations: [])
        var number = number
        for operation in operations {
            let end = number + operation.numberCount
            if end > last + 1 {
                let known = last + 1 > number ? last + 1 - number : 0
                rest.operations.append(operation.dropping(known, by: replica))
            }
            number = end
        }
        return rest
    }

    /// Appends operations of the same replica and epoch, and merges consecutive insertions.
    mutating func append(_ next: TextBatch) {
        for operation in next.operations {
            if let last = operations.last, let joined = last.joined(with: operation, by: replica) {
                operations[operations.count - 1] = joined
            } else {
                operations.append(operation)
            }
        }
    }

    /// Splits the batch so that each part fits into an event; empty for a batch without operations.
    ///
    /// - Parameter lengthMax: The maximum length of a part as JSON, in bytes; a longer operation is its own part.
    /// - Returns: The parts, in order.
    func parts(lengthMax: Int = Self.lengthMax) -> [TextBatch] {
        var parts: [TextBatch] = []
        var length = 0
        var number = number
        for operation in operations {
            if parts.isEmpty || length + operation.encodedLengthMax > lengthMax {
                parts.append(
                    TextBatch(epoch: epoch, replica: replica, number: number, operations: [])
                )
                length = Self.envelopeLength
            }
            parts[parts.count - 1].operations.append(operation)
            length += operation.encodedLengthMax
            number += operation.numberCount
        }
        return parts
    }

    /// The maximum length of a batch as JSON, in bytes, so that it fits into an event of 10 kB.
    package static let lengthMax = 8_000
    /// The maximum length of a batch without its operations, in bytes.
    private static let envelopeLength = 160
}

extension TextOperation {
    /// The maximum length of the operation as JSON, in bytes.
    var encodedLengthMax: Int {
        guard case .insert(_, _, let text) = self else { return 64 }
        return text.unicodeScalars.reduce(96) { length, scalar in
            switch scalar.value {
            case 0..<0x20: length + 6
            case 0x22, 0x2F, 0x5C: length + 2
            default: length + UTF8.width(scalar)
            }
        }
    }
}
