import CommandSupport

/// Whether the server takes as much of its machine after a long load as after a short one.
struct SoakComparison: Equatable {
    /// After the warm-up, when all had left but those who stay.
    var before: Footprint
    /// The same at the end.
    var after: Footprint

    /// By how many bytes resident memory may have grown.
    ///
    /// An allocator does not give every free page back: what is left between two pieces in use depends on who came and
    /// went when. That varies with the load's peaks, not with its duration: a sixteenth of what was there, or 4 MiB. A
    /// leak of a hundred bytes for each of the 36,000 visitors of half an hour would be as much.
    var residentGrowthMax: Int { max(before.resident / 16, 4 << 20) }

    /// What has grown too much, in a line; nil if nothing has.
    var fault: String? {
        let growth = after.resident - before.resident
        let faults = [
            growth > residentGrowthMax
                ? "memory grew by \(mebibytes(growth)); \(mebibytes(residentGrowthMax)) is allowed"
                : nil,
            after.descriptors > before.descriptors
                ? "\(grouped(after.descriptors - before.descriptors)) descriptors were not closed"
                : nil,
        ].compactMap { $0 }
        return faults.isEmpty ? nil : faults.joined(separator: "; ")
    }

    /// The footprints beside one another.
    var rows: [BenchReport.Row] {
        [
            .init(
                label: "server memory",
                text: """
                    \(mebibytes(before.resident)) after warm-up, \(mebibytes(after.resident)) at \
                    the end; \(mebibytes(residentGrowthMax)) more is allowed
                    """,
                members: [
                    ("resident_before_bytes", .integer(before.resident)),
                    ("resident_after_bytes", .integer(after.resident)),
                ]
            ),
            .init(
                label: "the same as Pss",
                text: "\(proportional(before)), \(proportional(after))",
                members: [
                    ("pss_before_bytes", before.proportional.map { .integer($0) } ?? .null),
                    ("pss_after_bytes", after.proportional.map { .integer($0) } ?? .null),
                ]
            ),
            .init(
                label: "server descriptors",
                text: """
                    \(grouped(before.descriptors)) after warm-up, \(grouped(after.descriptors)) at \
                    the end
                    """,
                members: [
                    ("descriptors_before", .integer(before.descriptors)),
                    ("descriptors_after", .integer(after.descriptors)),
                ]
            ),
        ]
    }

    private func proportional(_ footprint: Footprint) -> String {
        footprint.proportional.map(mebibytes) ?? "unknown"
    }
}
