// The JSON format of batches, entries and snapshots; the article "Shared text" documents it.

extension TextOperation: Codable {
    private enum CodingKeys: String, CodingKey { case insert, time, after, delete }

    /// Reads `{"insert":"text","time":9,"after":[time,replica]}` or `{"delete":[time,replica,count]}`.
    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        if fields.contains(.delete) {
            self = .delete(try fields.decode(ScalarRange.self, forKey: .delete))
        } else {
            self = .insert(
                time: try fields.decodeTime(forKey: .time),
                after: try fields.decodeIfPresent(ScalarID.self, forKey: .after),
                text: try fields.decode(String.self, forKey: .insert)
            )
        }
    }

    /// Encodes the format of ``init(from:)``.
    package func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .delete(let range): try fields.encode(range, forKey: .delete)
        case .insert(let time, let parent, let text):
            try fields.encode(text, forKey: .insert)
            try fields.encode(time, forKey: .time)
            try fields.encodeIfPresent(parent, forKey: .after)
        }
    }
}

extension TextEntry: Codable {
    private enum CodingKeys: String, CodingKey { case serial, epoch, operations }

    /// Decodes a batch with its `serial`; without `operations`, a compaction.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        serial = try fields.decode(UInt64.self, forKey: .serial)
        if fields.contains(.operations) {
            change = .batch(try TextBatch(from: decoder))
        } else {
            change = .compacted(epoch: try fields.decode(UInt64.self, forKey: .epoch))
        }
    }

    /// Encodes the format of ``init(from:)``.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(serial, forKey: .serial)
        switch change {
        case .batch(let batch): try batch.encode(to: encoder)
        case .compacted(let epoch): try fields.encode(epoch, forKey: .epoch)
        }
    }
}

extension TextRecovery: Codable {
    private enum CodingKeys: String, CodingKey { case entries, serial, snapshot }

    /// Reads `{"entries":[…],"serial":9}` or `{"snapshot":{…}}`.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        if fields.contains(.snapshot) {
            self = .snapshot(try fields.decode(TextSnapshot.self, forKey: .snapshot))
        } else {
            self = .entries(
                try fields.decode([TextEntry].self, forKey: .entries),
                serial: try fields.decode(UInt64.self, forKey: .serial)
            )
        }
    }

    /// Encodes the format of ``init(from:)``.
    public func encode(to encoder: any Encoder) throws {
        var fields = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .snapshot(let snapshot): try fields.encode(snapshot, forKey: .snapshot)
        case .entries(let entries, let serial):
            try fields.encode(entries, forKey: .entries)
            try fields.encode(serial, forKey: .serial)
        }
    }
}

extension TextSnapshot: Codable {
    private enum CodingKeys: String, CodingKey {
        case epoch, serial, time, version, replicas, runs
    }

    /// A run as `[index of the replica, time, text or count]`.
    private struct IndexedRun: Codable {
        var replica: Int
        var time: UInt64
        var text: String?
        var count: Int

        init(_ run: Run, replicas: [ReplicaID: Int]) {
            let start: ScalarID
            switch run {
            case .visible(let id, let visible): (start, text, count) = (id, visible, 0)
            case .deleted(let range): (start, text, count) = (range.start, nil, range.count)
            }
            replica = replicas[start.replica] ?? 0
            time = start.time
        }

        init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            replica = try values.decode(Int.self)
            time = try values.decodeTime()
            if let length = try? values.decode(Int.self) {
                (text, count) = (nil, length)
            } else {
                (text, count) = (try values.decode(String.self), 0)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.unkeyedContainer()
            try values.encode(replica)
            try values.encode(time)
            if let text { try values.encode(text) } else { try values.encode(count) }
        }

        func run(_ replicas: [ReplicaID]) -> Run? {
            guard replicas.indices.contains(replica) else { return nil }
            let id = ScalarID(time: time, replica: replicas[replica])
            if let text { return text.isEmpty ? nil : .visible(id, text) }
            return count > 0 ? .deleted(ScalarRange(id, count: count)) : nil
        }
    }

    /// Decodes the format of ``encode(to:)``.
    public init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        epoch = try fields.decode(UInt64.self, forKey: .epoch)
        serial = try fields.decode(UInt64.self, forKey: .serial)
        time = try fields.decodeTime(forKey: .time)
        version = [:]
        for pair in try fields.decode([[UInt64]].self, forKey: .version) {
            guard pair.count == 2, let replica = ReplicaID(rawValue: pair[0]) else {
                throw fields.fault(.version, "expected pairs of a replica and a number")
            }
            version[replica] = pair[1]
        }
        let replicas = try fields.decode([ReplicaID].self, forKey: .replicas)
        runs = try fields.decode([IndexedRun].self, forKey: .runs).map { indexed in
            guard let run = indexed.run(replicas) else {
                throw fields.fault(.runs, "a run of an unknown replica, or without scalars")
            }
            return run
        }
    }

    /// Encodes each replica once, and runs as `[index of the replica, time, text or count]`.
    public func encode(to encoder: any Encoder) throws {
        var replicas: [ReplicaID] = []
        var indices: [ReplicaID: Int] = [:]
        for run in runs {
            let replica =
                switch run {
                case .visible(let id, _): id.replica
                case .deleted(let range): range.start.replica
                }
            guard indices[replica] == nil else { continue }
            indices[replica] = replicas.count
            replicas.append(replica)
        }
        var fields = encoder.container(keyedBy: CodingKeys.self)
        try fields.encode(epoch, forKey: .epoch)
        try fields.encode(serial, forKey: .serial)
        try fields.encode(time, forKey: .time)
        let pairs = version.sorted { $0.key < $1.key }.map { [$0.key.rawValue, $0.value] }
        try fields.encode(pairs, forKey: .version)
        try fields.encode(replicas, forKey: .replicas)
        try fields.encode(runs.map { IndexedRun($0, replicas: indices) }, forKey: .runs)
    }
}

extension ScalarID: Codable {
    /// Reads `[time, replica]`.
    package init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        time = try values.decodeTime()
        replica = try values.decode(ReplicaID.self)
    }

    /// Writes `[time, replica]`.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        try values.encode(time)
        try values.encode(replica)
    }
}

extension ScalarRange: Codable {
    /// Reads `[time, replica, count]`.
    package init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        start = ScalarID(
            time: try values.decodeTime(),
            replica: try values.decode(ReplicaID.self)
        )
        count = try values.decode(Int.self)
    }

    /// Writes `[time, replica, count]`.
    package func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        try values.encode(start.time)
        try values.encode(start.replica)
        try values.encode(count)
    }
}

extension TextAnchor: Codable {
    /// Reads `["start"]`, `["end"]`, `["before", time, replica]` or `["after", time, replica]`.
    public init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        let side = try values.decode(String.self)
        func scalar() throws -> ScalarID {
            let time = try values.decodeTime()
            return ScalarID(time: time, replica: try values.decode(ReplicaID.self))
        }
        switch side {
        case "start": self = .start
        case "end": self = .end
        case "before": self = .before(try scalar())
        case "after": self = .after(try scalar())
        default:
            throw DecodingError.dataCorruptedError(
                in: values,
                debugDescription: "\(side) is none of start, end, before and after"
            )
        }
    }

    /// Encodes the format of ``init(from:)``.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        switch position {
        case .start: try values.encode("start")
        case .end: try values.encode("end")
        case .before(let id), .after(let id):
            if case .before = position {
                try values.encode("before")
            } else {
                try values.encode("after")
            }
            try values.encode(id.time)
            try values.encode(id.replica)
        }
    }
}

extension UnkeyedDecodingContainer {
    /// Decodes a Lamport time; throws above the limit up to which every JSON reader is exact.
    fileprivate mutating func decodeTime() throws -> UInt64 {
        let time = try decode(UInt64.self)
        guard time <= ScalarID.timeMax else {
            throw DecodingError.dataCorruptedError(
                in: self,
                debugDescription: "\(time) is beyond the last time, \(ScalarID.timeMax)"
            )
        }
        return time
    }
}

extension KeyedDecodingContainer {
    fileprivate func decodeTime(forKey key: Key) throws -> UInt64 {
        let time = try decode(UInt64.self, forKey: key)
        guard time <= ScalarID.timeMax else {
            throw fault(key, "\(time) is beyond the last time, \(ScalarID.timeMax)")
        }
        return time
    }

    fileprivate func fault(_ key: Key, _ text: String) -> DecodingError {
        .dataCorruptedError(forKey: key, in: self, debugDescription: text)
    }
}
