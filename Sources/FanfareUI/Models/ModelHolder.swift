/// The model of a view: created when the view first needs it, and replaced when the view's input changes.
///
/// SwiftUI creates a view's value again and again, but keeps its state. The input of the newest value decides.
@MainActor package final class ModelHolder<Input: Equatable, Model> {
    private var current: (input: Input, model: Model)?

    package init() {}

    /// Returns the model for an input; `make` creates it if the last input was another one.
    package func model(for input: Input, _ make: () -> Model) -> Model {
        if let current, current.input == input { return current.model }
        let model = make()
        current = (input, model)
        return model
    }
}
