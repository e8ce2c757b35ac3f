// The declarations of the framework that the sources use; see README.md.
// swift-format-ignore-file

@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    @ViewBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: View {
    public var body: Never { return fatalError() }
}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock<each Content: View>(_ content: repeat each Content) -> Group { Group() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { content }
    public static func buildOptional(_ content: Group?) -> Group { Group() }
    public static func buildEither(first: Group) -> Group { Group() }
    public static func buildEither(second: Group) -> Group { Group() }
}

public struct Group: View {
    public init() {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public struct Text: View {
    public init(_ text: some StringProtocol) {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public struct Button: View {
    public init(_ title: some StringProtocol, action: @escaping @MainActor () -> Void) {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public struct List: View {
    public init<Content: View>(@ViewBuilder content: () -> Content) {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public struct TextEditor: View {
    public init(text: Binding<String>) {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public protocol DynamicViewContent: View {}

extension DynamicViewContent {
    public func onMove(perform action: ((IndexSet, Int) -> Void)?) -> some DynamicViewContent { self }
    public func onDelete(perform action: ((IndexSet) -> Void)?) -> some DynamicViewContent { self }
}

public struct ForEach: DynamicViewContent {
    public init<Data: RandomAccessCollection, Content: View>(
        _ data: Data, @ViewBuilder content: @escaping (Data.Element) -> Content
    ) where Data.Element: Identifiable {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

public import Foundation

@propertyWrapper public struct Binding<Value> {
    public init(get: @escaping @isolated(any) @Sendable () -> Value, set: @escaping @isolated(any) @Sendable (Value) -> Void) {}
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
}

@MainActor @preconcurrency public protocol DynamicProperty {}

@propertyWrapper public struct State<Value>: DynamicProperty {
    public init(wrappedValue: Value) {}
    public var wrappedValue: Value { get { fatalError() } nonmutating set {} }
    public var projectedValue: Binding<Value> { fatalError() }
}

@_exported public import Combine

@MainActor @preconcurrency @propertyWrapper public struct StateObject<Object: ObservableObject>: DynamicProperty {
    public nonisolated init(wrappedValue make: @autoclosure @escaping () -> Object) {}
    public var wrappedValue: Object { fatalError() }
}

public enum ScenePhase: Comparable, Sendable { case background, inactive, active }

public struct EnvironmentValues {
    public var scenePhase: ScenePhase { .active }
}

@propertyWrapper public struct Environment<Value>: DynamicProperty {
    public init(_ path: KeyPath<EnvironmentValues, Value>) {}
    public var wrappedValue: Value { fatalError() }
}

@MainActor @preconcurrency public protocol ViewModifier {
    associatedtype Body: View
    typealias Content = Group
    @ViewBuilder @MainActor @preconcurrency func body(content: Content) -> Body
}

extension View {
    public func modifier(_ modifier: some ViewModifier) -> some View { Group() }
    public func onAppear(perform action: (() -> Void)? = nil) -> some View { Group() }
    public func onChange<V: Equatable>(of value: V, perform action: @escaping (V) -> Void) -> some View { Group() }
}

@MainActor @preconcurrency public protocol Scene {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
}

extension Never: Scene {}

@resultBuilder public struct SceneBuilder {
    public static func buildBlock<Content: Scene>(_ content: Content) -> Content { content }
}

public struct WindowGroup: Scene {
    public init<Content: View>(@ViewBuilder content: () -> Content) {}
    public typealias Body = Never
    public var body: Never { return fatalError() }
}

@MainActor @preconcurrency public protocol App {
    associatedtype Body: Scene
    @SceneBuilder @MainActor @preconcurrency var body: Body { get }
    @MainActor @preconcurrency init()
}

extension App {
    @MainActor public static func main() {}
}
