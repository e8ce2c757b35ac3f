// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

@_exported public import Foundation

@MainActor open class UIView: NSObject {
    public var window: UIWindow? { nil }
}
@MainActor open class UIWindow: UIView {}
@MainActor open class UITableViewCell: UIView {}

@MainActor public protocol UITableViewDataSource: AnyObject {
    func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int
    func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell
}

@MainActor open class UITableView: UIView {
    public enum RowAnimation: Int, Sendable { case automatic, fade, none }
    public weak var dataSource: (any UITableViewDataSource)?
    public func reloadData() {}
    public func performBatchUpdates(
        _ updates: (() -> Void)?,
        completion: ((Bool) -> Void)? = nil
    ) {}
    public func insertRows(at paths: [IndexPath], with animation: RowAnimation) {}
    public func deleteRows(at paths: [IndexPath], with animation: RowAnimation) {}
    public func moveRow(at path: IndexPath, to target: IndexPath) {}
    public func insertSections(_ sections: IndexSet, with animation: RowAnimation) {}
    public func deleteSections(_ sections: IndexSet, with animation: RowAnimation) {}
    public func moveSection(_ section: Int, toSection target: Int) {}
    public func reconfigureRows(at paths: [IndexPath]) {}
}

@MainActor open class UICollectionView: UIView {
    public func reloadData() {}
    public func performBatchUpdates(
        _ updates: (() -> Void)?,
        completion: ((Bool) -> Void)? = nil
    ) {}
    public func insertSections(_ sections: IndexSet) {}
    public func deleteSections(_ sections: IndexSet) {}
    public func moveSection(_ section: Int, toSection target: Int) {}
    public func insertItems(at paths: [IndexPath]) {}
    public func deleteItems(at paths: [IndexPath]) {}
    public func moveItem(at path: IndexPath, to target: IndexPath) {}
    public func reconfigureItems(at paths: [IndexPath]) {}
}

extension IndexPath {
    public init(row: Int, section: Int) { self = [section, row] }
    public init(item: Int, section: Int) { self = [section, item] }
    public var row: Int { self[1] }
    public var item: Int { self[1] }
    public var section: Int { self[0] }
}
