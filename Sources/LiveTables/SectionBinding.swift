internal import FanfareClient
public import LiveCollections
public import LiveRows

/// Shows a live list in a view with sections, in batches, until the binding is released.
@MainActor public final class SectionBinding<ID: Hashable & Sendable, Row: LiveRow>
where Row.ID: Sendable {
    /// The maximum number of animated changes; with more, the view is reloaded.
    public static var batchMax: Int { 1000 }

    /// The sections that the view shows; its data source returns these.
    public private(set) var sections: [RowSection<ID, Row>] = []
    /// The list.
    public let list: LiveList<Row>

    private let build: (RowList<Row>) -> [RowSection<ID, Row>]
    private weak var view: (any SectionView)?
    private var token: ListenerToken?

    /// Binds a list to a view with sections.
    ///
    /// - Parameters:
    ///   - list: The list; held strongly.
    ///   - view: The view; held weakly.
    ///   - build: Groups rows into sections, as `sections(of:by:)` does.
    public init(
        _ list: LiveList<Row>,
        to view: any SectionView,
        build: @escaping (RowList<Row>) -> [RowSection<ID, Row>]
    ) {
        self.list = list
        self.view = view
        self.build = build
        token = list.observe { [weak self] in self?.show($0.rows) }
    }

    deinit { token?.cancel() }

    private func show(_ rows: RowList<Row>) {
        let new = build(rows)
        // Sections with duplicate ids cannot be compared: they are shown without animation.
        let changes = try? sectionChanges(from: sections, to: new)
        guard let view, let changes, Self.count(changes) <= Self.batchMax, !sections.isEmpty else {
            let isSame = sections == new
            sections = new
            if !isSame { view?.reloadSections() }
            return
        }
        if changes.hasBatch {
            view.performBatch(changes) { [self] in sections = new }
        } else {
            sections = new
        }
        if !changes.updates.isEmpty { view.updateRows(changes.updates) }
    }

    private static func count(_ changes: SectionChanges) -> Int {
        changes.sections.operationCount + changes.deletes.count + changes.inserts.count
            + changes.moves.count + changes.updates.count
    }
}
