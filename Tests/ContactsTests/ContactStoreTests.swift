import DemoSite
import GRDB
import Testing

@testable import Contacts

@Suite("The contacts in the database") struct ContactStoreTests {
    let store: ContactStore
    private let hedy = Contact(id: "hedy", name: "Hedy", phone: "1", email: "h@e", note: "n")

    init() throws { store = try ContactStore(database: [Contact.migration].open(nil)) }

    private var revision: Int64 { get throws { try store.people().revision } }

    @Test func beginsWithSeveralPeopleByName() throws {
        let people = try #require(try store.people().model)
        #expect(people.count == 11)
        #expect(people.map(\.name) == people.map(\.name).sorted())
    }

    @Test func downDropsTheTables() throws {
        let database = try [Contact.migration].open(nil)
        #expect(try [Contact.migration].migrateDown(database) == "createContacts")
        let tables = try database.read { database in
            try ["Contacts", "ContactsRevision"].filter { try database.tableExists($0) }
        }
        #expect(tables.isEmpty)
    }

    @Test func everyChangeHasItsOwnRevision() throws {
        let first = try revision
        #expect(try store.add(hedy) == .done)
        #expect(try store.change("hedy", ContactEdit(phone: "2")) == .done)
        #expect(try store.remove("hedy") == .done)
        #expect(try revision == first + 3)
    }

    @Test func addingTwiceIsAddingOnce() throws {
        #expect(try store.add(hedy) == .done)
        var changed = hedy
        changed.name = "Another name"
        #expect(try store.add(changed) == .alreadyDone)
        #expect(try store.contact("hedy").model == hedy)
    }

    @Test func aChangeKeepsTheOtherFields() throws {
        _ = try store.add(hedy)
        #expect(try store.change("hedy", ContactEdit(phone: " 2 ")) == .done)
        #expect(try store.change("hedy", ContactEdit(email: "")) == .done)
        let expected = Contact(id: "hedy", name: "Hedy", phone: "2", email: "", note: "n")
        #expect(try store.contact("hedy").model == expected)
    }

    @Test func aChangeWithoutEffectHasNoRevision() throws {
        _ = try store.add(hedy)
        let before = try revision
        #expect(try store.change("hedy", ContactEdit(phone: "1")) == .alreadyDone)
        #expect(try revision == before)
    }

    @Test func aRemovedContactIsNotChangedOrRemovedAgain() throws {
        #expect(try store.change("hedy", ContactEdit(phone: "2")) == .noSuchContact)
        #expect(try store.remove("hedy") == .alreadyDone)
        #expect(try store.contact("hedy").model == nil)
    }

    @Test func aRefusedFieldChangesNothing() throws {
        _ = try store.add(hedy)
        #expect(throws: FieldRefusal.noName) {
            try store.change("hedy", ContactEdit(name: " ", phone: "2"))
        }
        #expect(try store.contact("hedy").model == hedy)
    }

    @Test func aFullBookRefusesContacts() throws {
        let room = ContactStore.contactCountMax - 11
        for number in 0..<room {
            let contact = Contact(id: "\(number)", name: "N", phone: "", email: "", note: "")
            #expect(try store.add(contact) == .done)
        }
        #expect(try store.add(hedy) == .full)
    }
}
