package import Broker
package import PusherProtocol

/// A dictionary that is divided into many small ones as it grows, none of which takes long to grow further.
///
/// A single dictionary moves all of its elements when it grows. With 100,000 channels that takes tens of milliseconds,
/// in which no event is sent.
package struct SegmentedDictionary<Key: SegmentedKey, Value> {
    /// The number of segments; a power of two.
    @inlinable static var segmentCount: Int { 256 }
    /// The number of elements from which there are segments.
    @inlinable static var wholeMax: Int { 512 }

    /// All elements, while they are few.
    @usableFromInline var whole: [Key: Value] = [:]
    /// Empty while the elements are few: most apps have few channels.
    @usableFromInline var segments: [[Key: Value]] = []
    /// The number of elements.
    package internal(set) var count = 0

    package var isEmpty: Bool { count == 0 }

    @inlinable package init() {}

    @inlinable package subscript(key: Key) -> Value? {
        get { segments.isEmpty ? whole[key] : segments[Self.segment(of: key)][key] }
        set {
            if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) }
        }
    }

    @inlinable mutating func updateValue(_ value: Value, forKey key: Key) {
        if segments.isEmpty, count == Self.wholeMax { divide() }
        let former =
            segments.isEmpty
            ? whole.updateValue(value, forKey: key)
            : segments[Self.segment(of: key)].updateValue(value, forKey: key)
        if former == nil { count += 1 }
    }

    @discardableResult
    @inlinable package mutating func removeValue(forKey key: Key) -> Value? {
        let former =
            segments.isEmpty
            ? whole.removeValue(forKey: key)
            : segments[Self.segment(of: key)].removeValue(forKey: key)
        if former != nil { count -= 1 }
        return former
    }

    @usableFromInline mutating func divide() {
        segments = Array(repeating: [:], count: Self.segmentCount)
        for (key, value) in whole { segments[Self.segment(of: key)][key] = value }
        whole = [:]
    }

    @inlinable static func segment(of key: Key) -> Int {
        let hash = key.segmentHash
        return Int(truncatingIfNeeded: hash ^ hash >> 32) & (segmentCount - 1)
    }
}

/// A key of a ``SegmentedDictionary``.
package protocol SegmentedKey: Hashable {
    /// A hash that costs little.
    ///
    /// Keys that are deliberately chosen with the same hash share a segment, which then grows as slowly as one
    /// dictionary would.
    var segmentHash: UInt64 { get }
}

extension String: SegmentedKey {
    /// FNV-1a.
    package var segmentHash: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return hash
    }
}

extension ChannelName: SegmentedKey {
    package var segmentHash: UInt64 { text.segmentHash }
}

extension ChannelAddress: SegmentedKey {
    package var segmentHash: UInt64 { name.segmentHash }
}

extension SocketID: SegmentedKey {
    /// SplitMix64: with consecutive numbers each segment would have equally many, and all of them would grow at once.
    package var segmentHash: UInt64 {
        var hash = first &+ second &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        return hash ^ hash >> 31
    }
}
