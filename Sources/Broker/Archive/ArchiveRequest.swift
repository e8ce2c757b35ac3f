public import PusherProtocol

/// A message of a stored channel.
public struct StoredMessage: Sendable, Equatable {
    /// The message's number in its stream.
    public var serial: UInt64
    /// When it was published, in milliseconds since 1970.
    public var time: Int64
    /// The connection that the message excludes.
    public var except: SocketID?
    /// The message as it is sent.
    public var envelope: Envelope

    /// Creates a message.
    public init(serial: UInt64, time: Int64, except: SocketID?, envelope: Envelope) {
        self.serial = serial
        self.time = time
        self.except = except
        self.envelope = envelope
    }
}

/// The idempotency key of a message of a stored channel.
public struct StoredKey: Sendable, Equatable {
    /// The key.
    public var key: IdempotencyKey
    /// The event's digest.
    public var digest: UInt64
    /// When the key expires, in milliseconds since 1970.
    public var expiry: Int64

    /// Creates a key.
    public init(_ key: IdempotencyKey, digest: UInt64, expiry: Int64) {
        self.key = key
        self.digest = digest
        self.expiry = expiry
    }
}

/// The archive's record of a stream.
public struct StoredStream: Sendable, Equatable {
    /// The stream's number in the archive, which is never reused.
    public var row: Int64
    /// The channel.
    public var address: ChannelAddress
    /// The stream's ID.
    public var id: StreamID
    /// The serial of the last message.
    public var lastSerial: UInt64
    /// What the archive keeps.
    public var limits: Limits

    /// What the archive keeps of a stream.
    public struct Limits: Sendable, Equatable {
        /// The maximum number of messages.
        public var messagesMax: Int
        /// The maximum size of the messages, in bytes.
        public var bytesMax: Int
        /// How long a message is kept, in seconds.
        public var ageMax: Int

        /// The limits of a rule.
        public init(_ rule: RecoveryRule) {
            messagesMax = rule.messagesMax
            bytesMax = rule.bytesMax
            ageMax = rule.ageMax
        }
    }

    /// Creates the description of a stream.
    public init(
        row: Int64,
        _ address: ChannelAddress,
        _ id: StreamID,
        lastSerial: UInt64,
        _ limits: Limits
    ) {
        self.row = row
        self.address = address
        self.id = id
        self.lastSerial = lastSerial
        self.limits = limits
    }
}

/// A change of the archive.
public enum ArchiveChange: Sendable {
    /// A stream begins, or has other limits or another ID.
    case open(StoredStream)
    /// A message, with the idempotency key under which its event may be repeated.
    case message(row: Int64, StoredMessage, StoredKey?)
    /// A stream is forgotten, with its messages.
    case forget(row: Int64)
}

/// The changes of one turn of one shard, which the archive writes together.
public struct ArchiveGroup: Sendable {
    /// The shard.
    public var shard: Int
    /// Counts the shard's failures: after a failure, the groups in progress are refused.
    public var epoch: UInt64
    /// The number of the group within its shard.
    public var number: UInt64
    /// The changes, in order.
    public var changes: [ArchiveChange]
    /// Whether the changes must survive a loss of power before they are confirmed.
    public var isDurable: Bool

    /// Creates a group.
    public init(
        shard: Int,
        epoch: UInt64,
        number: UInt64,
        changes: [ArchiveChange],
        isDurable: Bool
    ) {
        self.shard = shard
        self.epoch = epoch
        self.number = number
        self.changes = changes
        self.isDurable = isDurable
    }
}

/// A query for messages of one stream.
public struct ArchiveQuery: Sendable, Equatable {
    /// The stream.
    public var row: Int64
    /// Serials, times, order and number.
    public var page: HistoryQuery
    /// The maximum size of the frames together, in bytes; at least one message is returned.
    public var bytesMax: Int

    /// Creates a query.
    public init(row: Int64, _ page: HistoryQuery, bytesMax: Int) {
        self.row = row
        self.page = page
        self.bytesMax = bytesMax
    }
}

/// The answer to an ``ArchiveQuery``.
public struct ArchivePage: Sendable, Equatable {
    /// The messages, in the order of the query.
    public var messages: [StoredMessage]
    /// The serial of the oldest kept message; 0 if none is kept.
    public var oldest: UInt64
    /// Whether there are more messages after the last one.
    public var hasMore: Bool

    /// Creates an answer.
    public init(messages: [StoredMessage] = [], oldest: UInt64 = 0, hasMore: Bool = false) {
        self.messages = messages
        self.oldest = oldest
        self.hasMore = hasMore
    }
}

/// A request of a shard to the archive.
public enum ArchiveRequest: Sendable {
    /// Write a group.
    case commit(ArchiveGroup)
    /// Read messages, for the shard's request with this number.
    case read(ArchiveQuery, ArchiveRead, shard: Int, number: UInt64)
    /// Write sessions as soon as possible; the shard posts no more before ``ArchiveReply/sessionsWritten``.
    case sessions([SessionChange], shard: Int)
}

/// A reply of the archive to a shard.
public enum ArchiveReply: Sendable {
    /// The groups up to this number are written.
    case committed(group: UInt64)
    /// Groups could not be written: the unconfirmed groups of this epoch never will be.
    case failed(epoch: UInt64)
    /// The file was set aside and a new one was begun: every stream needs another ID.
    case renewed
    /// The answer to a request; `nil` if the file could not be read, or the request was cancelled.
    case page(ArchivePage?, number: UInt64)
    /// The shard's sessions are written.
    case sessionsWritten
}

/// The archive, as shards see it.
///
/// It guarantees one thing: a stream ID survives only if no released message can be missing.
public protocol MessageArchive: AnyObject, Sendable {
    /// Whether the last attempts to write have failed; new messages are then refused, or kept in memory only.
    var isFailing: Bool { get }

    /// Whether the file was deleted, moved or replaced while in use; then ``isFailing`` until it is restored.
    var isMisplaced: Bool { get }

    /// The size of the messages of all shards that are not written yet, in bytes.
    var unstoredByteCount: Int { get }

    /// Adds to ``unstoredByteCount``.
    func addUnstored(_ byteCount: Int)

    /// Accepts a request; the shard gets the reply as a message.
    func post(_ request: ArchiveRequest)
}

extension MessageArchive {
    /// False for an archive that is not a file.
    public var isMisplaced: Bool { false }
}
