// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

@_exported public import Foundation

@MainActor open class NSView: NSObject {
    public var window: NSWindow? { nil }
}
@MainActor open class NSWindow: NSObject {}

@MainActor open class NSTableView: NSView {
    public struct AnimationOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let effectFade = AnimationOptions(rawValue: 1)
        public static let effectGap = AnimationOptions(rawValue: 2)
    }
    public var numberOfColumns: Int { 1 }
    public func reloadData() {}
    public func reloadData(forRowIndexes rows: IndexSet, columnIndexes columns: IndexSet) {}
    public func beginUpdates() {}
    public func endUpdates() {}
    public func insertRows(at rows: IndexSet, withAnimation options: AnimationOptions = []) {}
    public func removeRows(at rows: IndexSet, withAnimation options: AnimationOptions = []) {}
}
