/// Consecutive operations of one replica, which travel together.
public struct TextBatch: Hashable, Sendable, Codable {
    /// How often the text had been compacted when this was written; see ``TextAuthority``.
    public var epoch: UInt64
    /// Whose operations these are.
    public var replica: ReplicaID
    /// The number of the first operation.
    ///
    /// A replica counts from 1 what it does: each scalar that it types, and each range that it deletes.
    public var number: UInt64
    /// The operations, numbered consecutively.
    public var operations: [TextOperation]

    /// Puts operations together.
    ///
    /// - Parameters:
    ///   - epoch: How often the text had been compacted.
    ///   - replica: Whose operations these are.
    ///   - number: The number of the first.
    ///   - operations: The operations.
    public init(epoch: UInt64, replica: ReplicaID, number: UInt64, operations: [TextOperation]) {
        self.epoch = epoch
        self.replica = replica
        self.number = number
        self.operations = operations
    }

    /// The number that the replica's next operation has.
    public var nextNumber: UInt64 { operations.reduce(number) { $0 + $1.numberCount } }

    /// What is left of it without all up to the number `last`.
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

    /// Adds what follows, and makes one operation of what was typed in one go.
    ///
    /// - Parameter next: The operations that follow, of the same replica and epoch.
    mutating func append(_ next: TextBatch) {
        for operation in next.operations {
            if let last = operations.last, let joined = last.joined(with: operation, by: replica) {
                operations[operations.count - 1] = joined
            } else {
                operations.append(operation)
            }
        }
    }

    /// Divides it so that each part fits into an event.
    ///
    /// - Parameter lengthMax: The most bytes of a part as JSON; an operation that is longer is a part by itself.
    /// - Returns: The parts in order; none for a batch without operations.
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

    /// The most bytes of a batch as JSON, so that it fits into an event of 10 kB.
    public static let lengthMax = 8_000
    /// What a batch takes without its operations, at most.
    private static let envelopeLength = 160
}

extension TextOperation {
    /// How many bytes it takes as JSON, at most.
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
