extension Session {
    /// What a message causes, in order.
    ///
    /// Nearly always it is one thing, which is held in place: an array is memory from the heap for each message.
    public struct Effects: Sendable {
        private enum Storage {
            case one(Effect)
            case others([Effect])
        }

        private var storage: Storage

        /// One effect.
        init(_ effect: consuming Effect) { storage = .one(effect) }

        /// Any number of them.
        init(_ effects: [Effect]) { storage = .others(effects) }

        /// Those of `first`, then those of `second`.
        static func + (first: Effects, second: Effects) -> Effects {
            if first.isEmpty { return second }
            return second.isEmpty ? first : Effects(Array(first) + Array(second))
        }

        /// Gives away each effect, in order.
        public consuming func carryOut(_ body: (consuming Effect) -> Void) {
            // Taken out, for what is only read is copied.
            switch exchange(&storage, with: .others([])) {
            case .one(let effect): body(effect)
            case .others(let effects): for effect in effects { body(effect) }
            }
        }
    }
}

extension Session.Effects: RandomAccessCollection {
    /// The first effect's place.
    public var startIndex: Int { 0 }

    /// The place behind the last effect.
    public var endIndex: Int {
        switch storage {
        case .one: 1
        case .others(let effects): effects.count
        }
    }

    /// The effect at a place.
    public subscript(index: Int) -> Session.Effect {
        switch storage {
        case .one(let effect):
            precondition(index == 0, "one effect has the index 0, not \(index)")
            return effect
        case .others(let effects):
            return effects[index]
        }
    }
}

extension Session.Effects: ExpressibleByArrayLiteral {
    /// The effects of a literal, in order.
    public init(arrayLiteral effects: Session.Effect...) { self.init(effects) }
}
