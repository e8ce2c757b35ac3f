/// The model of a view: created when the view first needs it, and replaced when the view's input changes.
///
/// SwiftUI creates a view's value again and again, but keeps its state. The input of the newest value decides.
///
/// Where the system has no Observation, a change of the model is one of the holder, which the view follows.
package final class ModelHolder<Input: Equatable, Model: ObservedModel>: ObservedModel {
    private var current: (input: Input, model: Model)?

    package override init() {}

    /// Returns the model for an input; `make` creates it if the last input was another one.
    package func model(for input: Input, _ make: () -> Model) -> Model {
        if let current, current.input == input { return current.model }
        let model = make()
        current = (input, model)
        if #unavailable(macOS 14, iOS 17, tvOS 17, watchOS 10) {
            model.onChange = { [weak self] in self?.willChange() }
        }
        return model
    }
}
