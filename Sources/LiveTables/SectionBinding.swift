internal import FanfareClient
public import LiveCollections
public import LiveRows

/// Shows a live list in a view with sections, in batches, until the binding is released.
///
/// Changes of sections are one batch and changes of rows the next; see `SectionChanges` of `LiveRows`. The binding
/// reloads the view for more than 1,000 changes, and for changes while the view is in no window.
@MainActor public final class SectionBinding<ID: Hashable & Sendable, Row: LiveRow>
where Row.ID: Sendable {
    /// The sections that the view shows; its data source returns these.
    public private(set) var sections: [RowSection<ID, Row>] = []
    /// The list.
    public let list: LiveList<Row>

    private let build: (RowList<Row>) -> [RowSection<ID, Row>]
    private let view: () -> (any SectionView)?
    private var token: ListenerToken?

    /// Binds a list to a view with sections.
    ///
    /// - Parameters:
    ///   - list: The list; retained.
    ///   - view: The view; held weakly.
    ///   - build: Groups rows into sections, as `sections(of:by:)` does.
    public convenience init(
        _ list: LiveList<Row>,
        to view: any SectionView,
        build: @escaping (RowList<Row>) -> [RowSection<ID, Row>]
    ) {
        self.init(list, view: { [weak view] in view }, build: build)
    }

    /// Binds a list to the view that a closure returns while the view exists.
    init(
        _ list: LiveList<Row>,
        view: @escaping () -> (any SectionView)?,
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
        let view = view()
        // Sections with duplicate IDs cannot be compared, so they are shown without animation.
        let changes = try? sectionChanges(from: sections, to: new)
        guard let view, view.isInWindow, let changes, !sections.isEmpty,
            Self.count(changes) <= animatedChangesMax
        else {
            let isSame = sections == new
            sections = new
            if !isSame { view?.reloadSections() }
            return
        }
        if changes.sections.hasBatch {
            let between = sectionsBetweenBatches(from: sections, to: new)
            view.performBatch(SectionChanges(sections: changes.sections)) { [self] in
                sections = between
            }
        }
        if changes.hasRowBatch {
            var rows = changes
            rows.sections = RowChanges()
            view.performBatch(rows) { [self] in sections = new }
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
