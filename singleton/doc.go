// Package singleton keeps one instance of an actor in the whole cluster, or among the
// nodes with a role: a scheduler, a gatekeeper, the one who counts. It starts on
// the right node, is handed over when that node leaves, and starts anew when it
// crashed. Every node that joins has a [Singleton], whose Ref leads to the instance
// wherever it is.
package singleton
