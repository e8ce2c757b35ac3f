import Foundation
import Testing

/// Checks the names of the public types: an app that imports them beside Apple's modules must be able to use both.
@Suite("Names of public types") struct TypeNameTests {
    /// The listed modules; PusherSwift has the names of the official client.
    private static let modules = [
        "FanfareAPI", "FanfareClient", "FanfareEncryption", "FanfareOutbox", "FanfareStorage",
        "FanfareTesting", "FanfareUI",
        "LiveCollections", "LiveQueries", "LiveRows", "LiveTables",
    ]

    /// Names of modules, and of types that apps use without their modules' names.
    private static let taken: Set<String> = Set(
        """
        Alignment Anchor AngularGradient Angle Animation App Axis Binding Button Canvas Capsule Circle Color Commands \
        ControlGroup DisclosureGroup Divider Edge Ellipse Environment FocusState Font ForEach Form Gesture Grid Group Image \
        Label Layout Link List Menu Namespace NavigationPath Path Picker Popover Rectangle Scene ScenePhase ScrollView \
        Section Shape Slider Spacer State Stepper Tab Table Text Toggle Toolbar Transaction Transition View ViewBuilder \
        Window Observable Observation ObservationRegistrar ObservationTracking AnyCancellable Cancellable Deferred Empty Fail \
        Future Just Publisher Published Publishers Record Scheduler Subject Subscriber Subscribers Subscription Subscriptions \
        Bundle Data Date Decimal Expression Formatter Host IndexPath Locale Measurement Message Notification Operation Port \
        Predicate Process Progress Scanner SortDescriptor Stream Thread Timer URL URLRequest Unit UserDefaults Actor Array \
        Character Clock Dictionary Duration Error Identifiable Mutex Optional Range Regex Result Sequence Set String Task \
        Combine Foundation Network SwiftData SwiftUI Synchronization UIKit
        """.split(separator: " ").map(String.init)
    )

    /// The types of a module that belong to no other type.
    private static func types(of module: String) throws -> [String] {
        let declaration =
            /(?:@\w+ |final |indirect )*(?:class|struct|enum|actor|protocol|typealias) (\w+).*/
        return try InterfaceTests.declarations(of: module).compactMap { line in
            line.wholeMatch(of: declaration).map { String($0.1) }
        }
    }

    @Test("None is one of Apple's", arguments: modules) func collides(module: String) throws {
        let types = try Self.types(of: module)
        #expect(!types.isEmpty)
        #expect(Self.taken.intersection(types).sorted() == [])
    }

    @Test("None is a module's, which would hide the module's other types")
    func namesOfModules() throws {
        let types = try Self.modules.flatMap(Self.types)
        #expect(Set(Self.modules).intersection(types).sorted() == [])
    }

    @Test("None is in two modules") func namesOnce() throws {
        let types = try Self.modules.flatMap(Self.types)
        let twice = Dictionary(grouping: types) { $0 }.filter { $0.value.count > 1 }
        #expect(twice.keys.sorted() == [])
    }
}
