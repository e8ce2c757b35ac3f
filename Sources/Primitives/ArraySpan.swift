#if canImport(Darwin)
    // The standard library has these for all arrays, but on Apple platforms from iOS 26 and macOS 26 on. The compiler
    // prefers these, because they are more specific, in each file that imports this module.
    extension Array where Element: BitwiseCopyable {
        /// The elements.
        package var span: Span<Element> {
            @_lifetime(borrow self)
            borrowing get {
                // SAFETY: an array of values is native, so its elements stay where they are as long as it is borrowed.
                let elements = withUnsafeBufferPointer { $0 }
                return _overrideLifetime(Span(_unsafeElements: elements), borrowing: self)
            }
        }

        /// The elements, which can be replaced.
        package var mutableSpan: MutableSpan<Element> {
            @_lifetime(&self)
            mutating get {
                // SAFETY: as above; the array is unique now, and nothing else uses it while the span is.
                let elements = withUnsafeMutableBufferPointer { $0 }
                return _overrideLifetime(MutableSpan(_unsafeElements: elements), mutating: &self)
            }
        }
    }
#endif
