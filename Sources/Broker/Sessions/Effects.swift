extension Session {
    /// The effects of a message, in order.
    ///
    /// Nearly always there is one, which is stored inline: an array would cost an allocation for each message.
    public struct Effects: Sendable {
        private enum Storage {
            case one(Effect)
            case others([Effect])
        }

        private var storage: Storage
        /// What the effects refuse, for observers; `nil` for nothing.
        public internal(set) var refusal: Refusal.Subject?

        /// One effect.
        init(_ effect: consuming Effect) { storage = .one(effect) }

        /// Creates effects from an array.
        init(_ effects: [Effect]) { storage = .others(effects) }

        /// Concatenates effects.
        static func + (first: Effects, second: Effects) -> Effects {
            if first.isEmpty { return second }
            if second.isEmpty { return first }
            var effects = Effects(Array(first) + Array(second))
            effects.refusal = first.refusal ?? second.refusal
            return effects
        }

        /// The same effects as the refusal of something, if they refuse a message.
        func refusing(_ subject: Refusal.Subject) -> Effects {
            guard refusal != nil else { return self }
            var effects = self
            effects.refusal = subject
            return effects
        }

        /// Consumes the effects, in order.
        public consuming func carryOut(_ body: (consuming Effect) -> Void) {
            // Moved out: reading the storage would copy it.
            switch exchange(&storage, with: .others([])) {
            case .one(let effect): body(effect)
            case .others(let effects): for effect in effects { body(effect) }
            }
        }
    }
}

extension Session.Effects: RandomAccessCollection {
    /// The index of the first effect.
    public var startIndex: Int { 0 }

    /// The index after the last effect.
    public var endIndex: Int {
        switch storage {
        case .one: 1
        case .others(let effects): effects.count
        }
    }

    /// The effect at an index.
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
