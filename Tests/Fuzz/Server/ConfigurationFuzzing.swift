import BrokerConfiguration
public import FuzzTargets

extension FuzzTarget {
    /// The targets that need the whole server: the configuration file, and a shard.
    public static let server = [
        FuzzTarget("configuration", ConfigurationFuzzing.run),
        FuzzTarget("shards", ShardFuzzing.run),
    ]
}

/// The input is the text of a configuration file.
enum ConfigurationFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        guard let yaml = String(validating: input, as: UTF8.self) else { return }
        // A certificate may be any file, and these are endless.
        guard !yaml.contains("/dev/"), !yaml.contains("/proc/") else { return }
        let first = load(yaml)
        try expectEqual(load(yaml), first, "read twice")
        switch first {
        case .success(let configuration):
            try expectEqual(configuration.faults(), [], "the faults of an accepted configuration")
        case .failure(let error):
            try expect(!error.faults.isEmpty, "refused without a fault")
            let lineCount = input.count { $0 == 0x0A || $0 == 0x0D } + 2
            for fault in error.faults {
                try expect(!fault.problem.isEmpty, "\(fault.key) has no problem")
                guard case .line(let line, let file) = fault.origin else { continue }
                try expect(file == "fuzz.yaml", "\(fault) is not of the file")
                try expect((1...lineCount).contains(line), "\(fault): there are \(lineCount) lines")
            }
        }
    }

    private static func load(_ yaml: String) -> Result<Configuration, ConfigurationError> {
        Result { () throws(ConfigurationError) in
            try Configuration.load(yaml: yaml, file: "fuzz.yaml")
        }
    }
}
