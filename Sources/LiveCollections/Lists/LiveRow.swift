/// What a row of a live list has to be: its id makes it the same row, the rest is its contents.
///
/// Whoever makes a row makes its id as well, for good: a UUID as text, or a random number between
/// 2³² and 2⁵³ where ids are numbers. So a row keeps its id when the backend takes it in.
public typealias LiveRow = Equatable & Identifiable & Sendable
