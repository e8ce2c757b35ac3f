#if canImport(SwiftUI)
    public import FanfareClient
    public import LiveCollections
    public import LiveRows
    public import SwiftUI

    /// The latest events of one name on a channel.
    ///
    /// ```swift
    /// @ChannelEvents(.placed, on: client.channel("orders")) private var orders
    /// ```
    ///
    /// The projected value is the ``ChannelModel``, with the state and gaps.
    @MainActor @propertyWrapper
    public struct ChannelEvents<Payload: Decodable & Sendable>:
        DynamicProperty
    {
        @State private var model: Lazy<ChannelModel<Payload>>

        /// Subscribes while the view exists.
        ///
        /// - Parameters:
        ///   - event: The event's name and type.
        ///   - channel: The channel.
        ///   - limit: The most events to keep, at least 1; the oldest are dropped.
        public init(_ event: EventName<Payload>, on channel: Channel, limit: Int = 100) {
            _model = State(
                wrappedValue: Lazy { ChannelModel(event, on: channel, limit: limit) }
            )
        }

        /// The latest events, the newest last.
        public var wrappedValue: [Payload] { model.value.events }

        /// The model.
        public var projectedValue: ChannelModel<Payload> { model.value }
    }

    /// The members of a presence channel.
    ///
    /// The projected value is the ``MembersModel``.
    @MainActor @propertyWrapper public struct Members: DynamicProperty {
        @State private var model: Lazy<MembersModel>

        /// Subscribes while the view exists.
        ///
        /// - Parameter channel: The channel, whose name begins with `presence-`.
        public init(of channel: Channel) {
            _model = State(wrappedValue: Lazy { MembersModel(of: channel) })
        }

        /// All members.
        public var wrappedValue: [PresenceMember] { model.value.members }

        /// The model.
        public var projectedValue: MembersModel { model.value }
    }

    /// The rows of a live list.
    ///
    /// The projected value is the ``ListModel``, with the state and the list for edits.
    @MainActor @propertyWrapper public struct ListRows<Row: LiveRow>: DynamicProperty
    where Row.ID: Sendable {
        @State private var model: Lazy<ListModel<Row>>

        /// Follows a source while the view exists.
        ///
        /// - Parameters:
        ///   - source: The source of the rows and target of the edits.
        ///   - options: The limits and retry delays.
        public init(_ source: some LiveSource<Row>, options: ListOptions = ListOptions()) {
            _model = State(wrappedValue: Lazy { ListModel(source, options: options) })
        }

        /// The rows, with unconfirmed edits applied.
        public var wrappedValue: RowList<Row> { model.value.rows }

        /// The model.
        public var projectedValue: ListModel<Row> { model.value }
    }

    /// A model that is created when a view first needs it.
    ///
    /// SwiftUI creates a view's value, and with it the initial values of its state, again and again.
    @MainActor private final class Lazy<Model> {
        private let make: @MainActor () -> Model
        private var made: Model?

        init(_ make: @escaping @MainActor () -> Model) { self.make = make }

        var value: Model {
            if let made { return made }
            let model = make()
            made = model
            return model
        }
    }
#endif
