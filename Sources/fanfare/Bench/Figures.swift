/// An integer with a comma between its thousands: `1,000,000`.
func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
        if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
        text.append(digit)
    }
    return number < 0 ? "-" + text : text
}

/// A number rounded to some decimal places: `0.91`.
///
/// - Parameters:
///   - number: Finite, and small enough for an integer once multiplied.
///   - places: 0 to 6.
///   - grouping: Whether thousands get a comma.
/// - Returns: The number, with a point.
func decimal(_ number: Double, places: Int, grouping: Bool = true) -> String {
    let unit = (0..<places).reduce(1) { product, _ in product * 10 }
    let scaled = Int((abs(number) * Double(unit)).rounded())
    let whole = grouping ? grouped(scaled / unit) : String(scaled / unit)
    let sign = number < 0 && scaled > 0 ? "-" : ""
    guard places > 0 else { return sign + whole }
    let fraction = String(scaled % unit)
    return "\(sign)\(whole).\(String(repeating: "0", count: places - fraction.count))\(fraction)"
}
