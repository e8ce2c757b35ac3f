/// Returns the changes from one list of rows to another; pieces that both share are not compared.
///
/// A list and its changed copy share most of their pieces, which are recognised by address. The cost is that of the
/// rows near a change.
///
/// - Parameters:
///   - old: The rows before.
///   - new: The rows after.
/// - Returns: One batch, and the updates after it.
/// - Throws: ``DuplicateRow`` when an ID is found twice in one list.
public func rowChanges<Row: Identifiable & Equatable>(
    from old: RowList<Row>,
    to new: RowList<Row>
) throws(DuplicateRow) -> RowChanges {
    let shared = SharedPieces(old, new)
    guard shared.count > 0 else { return try rowChanges(from: Array(old), to: Array(new)) }
    let changes = try shared.changes()
    // Moving a whole shared piece may need fewer moves than moving rows past it. This is possible only if there are
    // more moves than rows in the smallest piece.
    guard changes.moves.count > shared.rowCountMin else { return changes }
    return try rowChanges(from: Array(old), to: Array(new))
}

/// The pieces that two lists share, and the segments between them.
private struct SharedPieces<Row: Identifiable & Equatable> {
    /// The number of shared pieces.
    private(set) var count = 0
    /// The number of rows of the smallest shared piece.
    private(set) var rowCountMin = Int.max
    private var segments: [RowSegment] = []
    private var oldRows = ContiguousArray<Row>()
    private var newRows = ContiguousArray<Row>()

    init(_ old: RowList<Row>, _ new: RowList<Row>) {
        var positions: [UnsafeRawPointer: Int] = [:]
        let head = zip(old.pieces, new.pieces).prefix { Self.isSame($0, $1) }.count
        let tail = zip(old.pieces.dropFirst(head).reversed(), new.pieces.dropFirst(head).reversed())
            .prefix { Self.isSame($0, $1) }.count
        for position in head..<(old.pieces.count - tail) {
            positions[Self.address(old.pieces[position])] = position
        }
        var (oldPosition, newPosition) = (0, 0)
        addShared(old.pieces.prefix(head))
        (oldPosition, newPosition) = (head, head)
        for position in head..<(new.pieces.count - tail) {
            let piece = new.pieces[position]
            guard let before = positions[Self.address(piece)], before >= oldPosition else {
                continue
            }
            addSegment(old, oldPosition..<before, new, newPosition..<position)
            addShared([piece])
            (oldPosition, newPosition) = (before + 1, position + 1)
        }
        let (oldEnd, newEnd) = (old.pieces.count - tail, new.pieces.count - tail)
        addSegment(old, oldPosition..<oldEnd, new, newPosition..<newEnd)
        addShared(old.pieces.suffix(tail))
    }

    func changes() throws(DuplicateRow) -> RowChanges {
        let result: Result<RowChanges, DuplicateRow> = oldRows.withUnsafeBufferPointer { old in
            newRows.withUnsafeBufferPointer { new in
                Result { () throws(DuplicateRow) in
                    var difference = RowDifference(old: old, new: new)
                    return try difference.changes(in: segments)
                }
            }
        }
        return try result.get()
    }

    private mutating func addShared(_ pieces: some Collection<RowList<Row>.Piece>) {
        count += pieces.count
        for piece in pieces { rowCountMin = min(rowCountMin, piece.rows.count) }
    }

    private mutating func addSegment(
        _ old: RowList<Row>,
        _ oldPieces: Range<Int>,
        _ new: RowList<Row>,
        _ newPieces: Range<Int>
    ) {
        guard !oldPieces.isEmpty || !newPieces.isEmpty else { return }
        let (oldStart, newStart) = (oldRows.count, newRows.count)
        for piece in old.pieces[oldPieces] { oldRows += piece.rows }
        for piece in new.pieces[newPieces] { newRows += piece.rows }
        segments.append(
            RowSegment(
                old: oldStart..<oldRows.count,
                new: newStart..<newRows.count,
                oldShift: old.start(of: oldPieces.lowerBound) - oldStart,
                newShift: new.start(of: newPieces.lowerBound) - newStart
            )
        )
    }

    /// Compares by address: both lists are alive and no piece is empty, so equal addresses mean the same piece.
    private static func isSame(_ left: RowList<Row>.Piece, _ right: RowList<Row>.Piece) -> Bool {
        address(left) == address(right)
    }

    private static func address(_ piece: RowList<Row>.Piece) -> UnsafeRawPointer {
        piece.rows.withUnsafeBytes { bytes in
            // A piece is not empty, so its storage has an address.
            bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
        }
    }
}
