// A test of a list performs its changes on a `TableOracle`, which names the rule of table views that
// one breaks; with this, it needs no other import.
@_exported public import LiveRows
