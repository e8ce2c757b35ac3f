/// The limits of one message.
///
/// Lengths are checked when they are announced, before anything is buffered.
public struct HTTPLimits: Sendable, Hashable {
    /// The longest request line or status line, in bytes without its line ending (RFC 9112 §3).
    ///
    /// RFC 9110 §4.1 recommends at least 8,000 bytes. A longer one is refused with 414.
    public var requestLineLengthMax: Int

    /// The maximum number of field lines in a head or trailer section; a request with more is refused with 431.
    public var fieldCountMax: Int

    /// The maximum number of bytes of all field lines of a head or trailer section, including line endings.
    ///
    /// A request with more is refused with 431.
    public var fieldBytesMax: Int

    /// The longest content, in bytes; a request with longer content is refused with 413.
    public var bodyLengthMax: Int

    /// The maximum number of bytes of all chunk extensions of one content.
    ///
    /// Chunk extensions are not used in practice; their only known use is to waste a recipient's time.
    public var chunkExtensionBytesMax: Int

    /// Makes limits; the defaults fit a message broker's publishing API.
    ///
    /// - Parameters:
    ///   - requestLineLengthMax: Bytes of a request line or status line.
    ///   - fieldCountMax: Field lines of a section.
    ///   - fieldBytesMax: Bytes of all field lines of a section.
    ///   - bodyLengthMax: Bytes of the content.
    ///   - chunkExtensionBytesMax: Bytes of all chunk extensions of a content.
    public init(
        requestLineLengthMax: Int = 8192,
        fieldCountMax: Int = 100,
        fieldBytesMax: Int = 16384,
        bodyLengthMax: Int = 1 << 20,
        chunkExtensionBytesMax: Int = 4096
    ) {
        self.requestLineLengthMax = requestLineLengthMax
        self.fieldCountMax = fieldCountMax
        self.fieldBytesMax = fieldBytesMax
        self.bodyLengthMax = bodyLengthMax
        self.chunkExtensionBytesMax = chunkExtensionBytesMax
    }
}
