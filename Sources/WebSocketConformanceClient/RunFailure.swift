/// Why a run says nothing about the client, or not everything.
enum RunFailure: Error, CustomStringConvertible {
    /// No address of the server answered; each with its reason.
    case unreachable([String])
    /// The answer to the question for the case count is no number.
    case noCaseCount(String)
    /// Several cases on end could not be run.
    case serverGone
    /// Some cases could not be run.
    case casesMissing(Int, of: Int)
    /// The server did not write its report.
    case noReport(String)

    var description: String {
        switch self {
        case .unreachable(let reasons):
            "The fuzzing server does not answer: \(reasons.joined(separator: "; "))."
        case .noCaseCount(let text): "The fuzzing server has \"\(text)\" cases, which is no number."
        case .serverGone: "The fuzzing server is gone."
        case .casesMissing(let count, let all): "\(count) of \(all) cases could not be run."
        case .noReport(let reason):
            "The fuzzing server did not take the call for a report: \(reason)."
        }
    }
}
