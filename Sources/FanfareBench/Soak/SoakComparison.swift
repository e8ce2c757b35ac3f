import CommandSupport

/// Compares the server's footprint after the warm-up with that at the end.
struct SoakComparison: Equatable {
    /// The footprint after the warm-up, with only the permanent connections open.
    var before: Footprint
    /// The footprint at the end, with the same connections open.
    var after: Footprint

    /// The allowed growth of resident memory in bytes.
    ///
    /// An allocator does not return every free page: fragmentation depends on the order of allocations, and varies with
    /// the peaks of the load, not with its duration. It is allowed to be a sixteenth of the memory, or 4 MiB. A leak of
    /// 100 bytes for each of the 36,000 visitors of half an hour would be as much.
    var residentGrowthMax: Int { max(before.resident / 16, 4 << 20) }

    var fault: String? {
        let growth = after.resident - before.resident
        return joined(
            [
                growth > residentGrowthMax
                    ? "memory grew by \(mebibytes(growth)); "
                        + "\(mebibytes(residentGrowthMax)) is allowed" : nil,
                after.descriptors > before.descriptors
                    ? "\(grouped(after.descriptors - before.descriptors)) descriptors were not closed"
                    : nil,
            ],
            by: "; "
        )
    }

    @RowBuilder var rows: [Row] {
        Row.row(
            "server memory",
            """
            \(mebibytes(before.resident)) after warm-up, \(mebibytes(after.resident)) at \
            the end; \(mebibytes(residentGrowthMax)) more is allowed
            """,
            ("resident_before_bytes", .integer(before.resident)),
            ("resident_after_bytes", .integer(after.resident))
        )
        Row.row(
            "server memory (Pss)",
            "\(proportional(before)), \(proportional(after))",
            ("pss_before_bytes", before.proportional.map { .integer($0) } ?? .null),
            ("pss_after_bytes", after.proportional.map { .integer($0) } ?? .null)
        )
        Row.row(
            "server descriptors",
            "\(grouped(before.descriptors)) after warm-up, \(grouped(after.descriptors)) at the end",
            ("descriptors_before", .integer(before.descriptors)),
            ("descriptors_after", .integer(after.descriptors))
        )
    }

    private func proportional(_ footprint: Footprint) -> String {
        footprint.proportional.map(mebibytes) ?? "unknown"
    }
}
