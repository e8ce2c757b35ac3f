// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

public protocol Digest: Sequence, Sendable where Element == UInt8 {}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    static var blockByteCount: Int { get }
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

public struct AnyDigest: Digest {
    public func makeIterator() -> IndexingIterator<[UInt8]> { [].makeIterator() }
}

public struct SHA256: HashFunction {
    public static var blockByteCount: Int { 64 }
    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
    public func finalize() -> AnyDigest { AnyDigest() }
}

public enum Insecure {
    public struct SHA1: HashFunction {
        public static var blockByteCount: Int { 64 }
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> AnyDigest { AnyDigest() }
    }
    public struct MD5: HashFunction {
        public static var blockByteCount: Int { 64 }
        public init() {}
        public mutating func update(bufferPointer: UnsafeRawBufferPointer) {}
        public func finalize() -> AnyDigest { AnyDigest() }
    }
}
