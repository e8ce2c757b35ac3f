/// An ordered list of rows, as a value that is cheap to copy and keep.
///
/// The rows are stored in pieces that copies share; a change copies only the affected pieces. So every update can
/// contain all rows, whatever their number.
public struct RowList<Row>: RandomAccessCollection {
    /// A run of rows; never empty.
    struct Piece {
        var rows: ContiguousArray<Row>
        /// Identifies the piece even if its index changes; see ``KeyedRows``.
        var key: Int
    }

    /// The number of rows of a new piece; a piece with more than `pieceCountMax` is split.
    static var pieceCount: Int { 96 }
    static var pieceCountMax: Int { 128 }
    /// A piece with fewer rows is merged with its neighbour.
    static var pieceCountMin: Int { 32 }

    var pieces: [Piece] = []
    /// For each piece, the index after its last row.
    var ends: [Int] = []

    /// Creates an empty list.
    public init() {}

    /// Creates a list of rows.
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
    /// The number of rows.
    public var endIndex: Int { ends.last ?? 0 }

    /// The row at an index from zero.
    public subscript(index: Int) -> Row {
        precondition(index >= 0 && index < endIndex, "there is no row \(index) of \(endIndex)")
        let location = location(of: index)
        return pieces[location.piece].rows[location.offset]
    }

    /// Iterates over the rows, piece by piece.
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

    /// Returns an iterator over the rows.
    public func makeIterator() -> Iterator { Iterator(pieces: pieces.makeIterator()) }

    /// Returns the location of a row; the index must be below `endIndex`.
    func location(of index: Int) -> (piece: Int, offset: Int) {
        var (low, high) = (0, ends.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ends[middle] <= index { low = middle + 1 } else { high = middle }
        }
        return (low, index - start(of: low))
    }

    func start(of piece: Int) -> Int { piece == 0 ? 0 : ends[piece - 1] }

    /// Shifts the ends of a piece and of those after it.
    mutating func shiftEnds(from piece: Int, by count: Int) {
        for index in piece..<ends.count { ends[index] += count }
    }
}

extension RowList: Sendable where Row: Sendable {}
extension RowList.Piece: Sendable where Row: Sendable {}
extension RowList.Iterator: Sendable where Row: Sendable {}

extension RowList: Equatable where Row: Equatable {
    /// Whether both lists have equal rows in the same order.
    public static func == (left: RowList, right: RowList) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }
}

extension RowList: ExpressibleByArrayLiteral {
    /// Creates a list of the rows in a literal.
    public init(arrayLiteral rows: Row...) { self.init(rows) }
}

extension RowList: CustomStringConvertible {
    /// The description of an array of the rows.
    public var description: String { "\(Array(self))" }
}
