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
    /// The projected value is the ``ChannelModel``, with the state and gaps. A view that is given another channel,
    /// event or limit gets another model.
    @MainActor @propertyWrapper
    public struct ChannelEvents<Payload: Decodable & Sendable>:
        DynamicProperty
    {
        private struct Input: Equatable {
            let event: EventName<Payload>
            let channel: Channel
            let limit: Int
        }

        @StateObject private var holder = ModelHolder<Input, ChannelModel<Payload>>()
        private let input: Input

        /// Subscribes while the view exists.
        ///
        /// - Parameters:
        ///   - event: The event's name and type.
        ///   - channel: The channel.
        ///   - limit: The most events to keep, at least 1; the oldest are dropped.
        public init(_ event: EventName<Payload>, on channel: Channel, limit: Int = 100) {
            input = Input(event: event, channel: channel, limit: limit)
        }

        /// The latest events, the newest last.
        public var wrappedValue: [Payload] { projectedValue.events }

        /// The model.
        public var projectedValue: ChannelModel<Payload> {
            holder.model(for: input) {
                ChannelModel(input.event, on: input.channel, limit: input.limit)
            }
        }
    }

    /// The members of a presence channel.
    ///
    /// The projected value is the ``MembersModel``. A view that is given another channel gets another model.
    @MainActor @propertyWrapper public struct Members: DynamicProperty {
        @StateObject private var holder = ModelHolder<Channel, MembersModel>()
        private let channel: Channel

        /// Subscribes while the view exists.
        ///
        /// - Parameter channel: The channel, whose name begins with `presence-`.
        public init(of channel: Channel) { self.channel = channel }

        /// All members.
        public var wrappedValue: [PresenceMember] { projectedValue.members }

        /// The model.
        public var projectedValue: MembersModel {
            holder.model(for: channel) { MembersModel(of: channel) }
        }
    }

    /// The rows of a live list.
    ///
    /// The projected value is the ``ListModel``, with the state and the list for edits.
    @MainActor @propertyWrapper public struct ListRows<Row: LiveRow>: DynamicProperty
    where Row.ID: Sendable {
        @StateObject private var holder = ModelHolder<AnyHashable, ListModel<Row>>()
        private let id: AnyHashable
        private let make: @MainActor () -> ListModel<Row>

        /// Follows a source while the view exists.
        ///
        /// - Parameters:
        ///   - source: The source of the rows and target of the edits.
        ///   - id: What the source shows, such as the ID of a room. With another value the view gets another model;
        ///     without one it keeps its first source.
        ///   - options: The limits and retry delays.
        public init(
            _ source: some LiveSource<Row>,
            id: some Hashable = 0,
            options: ListOptions = ListOptions()
        ) {
            self.id = AnyHashable(id)
            make = { ListModel(source, options: options) }
        }

        /// The rows, with unconfirmed edits applied.
        public var wrappedValue: RowList<Row> { projectedValue.rows }

        /// The model.
        public var projectedValue: ListModel<Row> { holder.model(for: id, make) }
    }
#endif
