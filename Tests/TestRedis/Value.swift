package import RESP

/// A value as a tree, for comparisons.
package typealias Value = RESPTree
