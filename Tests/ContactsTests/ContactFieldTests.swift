import Testing

@testable import Contacts

@Suite("The fields of a contact") struct ContactFieldTests {
    @Test(arguments: [
        (ContactField.name, " Ada ", "Ada"), (.phone, "", ""), (.email, "", ""),
        (.phone, "+49 (30) 123-4/5.6", "+49 (30) 123-4/5.6"),
        (.email, "ada@localhost", "ada@localhost"), (.note, "  two\nlines ", "two\nlines"),
    ])
    func takesWhatItCanMean(field: ContactField, text: String, taken: String) throws {
        #expect(try field.checked(text) == taken)
    }

    @Test(arguments: [
        (ContactField.name, "  ", "A contact needs a name."),
        (
            .phone, "call me",
            "A phone number has digits, spaces and + - / ( ) . only; “call me” has not."
        ),
        (.phone, "+", "A phone number has digits, spaces and + - / ( ) . only; “+” has not."),
        (.phone, "٣", "A phone number has digits, spaces and + - / ( ) . only; “٣” has not."),
        (.email, "ada", "An e-mail address is like ada@example.org; “ada” is not."),
        (.email, "a@b@c", "An e-mail address is like ada@example.org; “a@b@c” is not."),
        (.email, "a d@a", "An e-mail address is like ada@example.org; “a d@a” is not."),
        (.email, "@a", "An e-mail address is like ada@example.org; “@a” is not."),
    ])
    func saysWhatIsWrong(field: ContactField, text: String, sentence: String) {
        #expect(throws: FieldRefusal(field: field, description: sentence)) {
            try field.checked(text)
        }
    }

    @Test(arguments: ContactField.allCases)
    func namesTheLimit(field: ContactField) {
        let text = String(repeating: "1", count: field.lengthMax + 1)
        let sentence = """
            The \(field.rawValue) has \(field.lengthMax + 1) characters; the limit is \(field.lengthMax).
            """
        #expect(throws: FieldRefusal(field: field, description: sentence)) {
            try field.checked(text)
        }
    }
}
