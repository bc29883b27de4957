// Package manage shows a node to operators and their tools over HTTP.
//
// [Handler] serves the routes and JSON shapes that existing probes, scripts and
// dashboards of the JVM clusters know, under one optional base path:
//
//	GET /cluster/members            all members, as this node sees them
//	GET /cluster/members/{address}  one of them
//	GET /cluster/shards             the entity types that were joined here
//	GET /cluster/shards/{type}      the shards of one type that live here
//	GET /ready                      may traffic come?
//	GET /alive                      should the process go on?
//
// Every answer is made from immutable snapshots of this node: nothing asks
// another node, waits, or changes the cluster. Equal states give equal bytes:
// lists are sorted, and what is not known is absent, never null. HEAD is
// answered like GET; any other method is refused.
//
// Each document is a typed function first ([MembersOf], [ShardTypesOf],
// [ShardsOf]) and JSON second, so a program that has the node needs no HTTP.
// All functions and the handler are safe for concurrent use.
package manage
