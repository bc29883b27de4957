// Package linear holds tests of what users see of entities that keep a register
// each in the store, while the nodes that they live on crash, leave, lose each other
// and lose the store: whatever the answers are, there must be one order of the
// requests, in which each lies between its question and its answer, that one
// register alone would have given the same answers in (Herlihy and Wing,
// "Linearizability", TOPLAS 1990, section 2). The histories are checked by
// porcupine, for which this module is one of its own.
package linear
