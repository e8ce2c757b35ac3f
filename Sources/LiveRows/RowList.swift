/// Rows in order, as a value that is cheap to keep.
///
/// The rows are held in pieces that copies share: to keep the rows as they were costs nothing, and
/// the list that goes on copies only the pieces in which something happens. So every update can
/// carry the rows that it leads to, whatever their number.
public struct RowList<Row>: RandomAccessCollection {
    /// A run of rows; no piece is empty.
    struct Piece {
        var rows: ContiguousArray<Row>
        /// Stays with the piece wherever it comes to stand; see ``KeyedRows``.
        var key: Int
    }

    /// Pieces of this many rows are made; those that grow past `pieceCountMax` are split.
    static var pieceCount: Int { 96 }
    static var pieceCountMax: Int { 128 }
    /// A piece that has fewer is joined with the one beside it.
    static var pieceCountMin: Int { 32 }

    var pieces: [Piece] = []
    /// For each piece, the index behind its last row.
    var ends: [Int] = []

    /// An empty list.
    public init() {}

    /// A list of rows in their order.
    public init(_ rows: some Sequence<Row>) {
        var piece = ContiguousArray<Row>()
        for row in rows {
            piece.append(row)
            if piece.count == Self.pieceCount {
                append(piece)
                piece = []
            }
        }
        if !piece.isEmpty { append(piece) }
    }

    private mutating func append(_ rows: ContiguousArray<Row>) {
        ends.append(count + rows.count)
        pieces.append(Piece(rows: rows, key: pieces.count))
    }

    /// Zero.
    public var startIndex: Int { 0 }
    /// How many rows there are.
    public var endIndex: Int { ends.last ?? 0 }

    /// The row at an index from zero.
    public subscript(index: Int) -> Row {
        precondition(index >= 0 && index < endIndex, "there is no row \(index) of \(endIndex)")
        let place = place(of: index)
        return pieces[place.piece].rows[place.offset]
    }

    /// Walks over the rows, piece by piece.
    public struct Iterator: IteratorProtocol {
        var pieces: IndexingIterator<[Piece]>
        var rows: IndexingIterator<ContiguousArray<Row>>?

        /// The next row.
        public mutating func next() -> Row? {
            while true {
                if let row = rows?.next() { return row }
                guard let piece = pieces.next() else { return nil }
                rows = piece.rows.makeIterator()
            }
        }
    }

    /// Begins a walk over the rows.
    public func makeIterator() -> Iterator { Iterator(pieces: pieces.makeIterator()) }

    /// Where a row is held; the index must be below `endIndex`.
    func place(of index: Int) -> (piece: Int, offset: Int) {
        var (low, high) = (0, ends.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return (low, index - start(of: low))
    }

    func start(of piece: Int) -> Int { piece == 0 ? 0 : ends[piece - 1] }

    /// Shifts what comes from a piece on.
    mutating func shiftEnds(from piece: Int, by count: Int) {
        for index in piece..<ends.count { ends[index] += count }
    }
}

extension RowList: Sendable where Row: Sendable {}
extension RowList.Piece: Sendable where Row: Sendable {}
extension RowList.Iterator: Sendable where Row: Sendable {}

extension RowList: Equatable where Row: Equatable {
    /// Whether both have equal rows in the same order.
    public static func == (left: RowList, right: RowList) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }
}

extension RowList: ExpressibleByArrayLiteral {
    /// A list of the rows in a literal.
    public init(arrayLiteral rows: Row...) { self.init(rows) }
}

extension RowList: CustomStringConvertible {
    /// The rows as an array shows them.
    public var description: String { "\(Array(self))" }
}
