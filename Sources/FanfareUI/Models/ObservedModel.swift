#if canImport(Combine)
    public import Combine
#endif
public import Observation

/// A model that views follow.
///
/// It is `Observable` where the system has that (iOS 17, macOS 14, tvOS 17, watchOS 10), so a view keeps it in a `@State`
/// and is drawn anew when a property changes that it has read. Everywhere it is also an `ObservableObject`, for
/// `@StateObject` and `@ObservedObject`.
@MainActor public class ObservedModel {
    #if canImport(Combine)
        /// Its change makes the publisher `objectWillChange` emit.
        @Published private var changeCount = 0
    #endif
    /// Called before each change.
    package final var onChange: (@MainActor () -> Void)?

    package init() {}

    /// Publishes that a property is about to change.
    package final func willChange() {
        #if canImport(Combine)
            changeCount &+= 1
        #endif
        onChange?()
    }
}

#if canImport(Combine)
    extension ObservedModel: ObservableObject {}
#endif

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
extension ObservedModel: Observable {}

/// A property of an ``ObservedModel`` whose changes views follow.
@MainActor @propertyWrapper public struct Observed<Value> {
    private var value: Value
    /// The property for Observation: a ``Revision``, where the system has that.
    private let revision: AnyObject?

    /// Creates a property with its first value.
    public init(wrappedValue: Value) {
        value = wrappedValue
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            revision = Revision()
        } else {
            revision = nil
        }
    }

    /// Not used: only a model has such properties.
    @available(*, unavailable, message: "only an ObservedModel has observed properties")
    public var wrappedValue: Value {
        get { fatalError("only an ObservedModel has observed properties") }
        set { fatalError("only an ObservedModel has observed properties") }
    }

    /// The value of a model's property.
    public static subscript<Model: ObservedModel>(
        _enclosingInstance model: Model,
        wrapped _: ReferenceWritableKeyPath<Model, Value>,
        storage property: ReferenceWritableKeyPath<Model, Self>
    ) -> Value {
        get {
            model[keyPath: property].wasRead()
            return model[keyPath: property].value
        }
        set {
            model.willChange()
            model[keyPath: property].willChange()
            model[keyPath: property].value = newValue
        }
    }

    private func wasRead() {
        guard #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) else { return }
        _ = (revision as? Revision)?.number
    }

    private func willChange() {
        guard #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) else { return }
        (revision as? Revision)?.number &+= 1
    }
}

/// The number of changes of a property, for Observation.
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
@MainActor @Observable private final class Revision {
    var number = 0
}
