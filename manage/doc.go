// Package manage shows a node to operators and their tools over HTTP, and lets
// those who know its token change the cluster.
//
// [Handler] serves the routes and JSON shapes that existing probes, scripts and
// dashboards of the JVM clusters know, under one optional base path:
//
//	GET    /cluster/members            all members, as this node sees them
//	GET    /cluster/members/{address}  one of them
//	GET    /cluster/domain-events      changes as server-sent events; ?type= selects
//	GET    /cluster/shards             the entity types that were joined here
//	GET    /cluster/shards/{type}      the shards of one type that live here
//	GET    /cluster/shards/{type}/stats  those of all nodes, each of which is asked
//	GET    /bootstrap/seed-nodes       whom a new node can join through
//	GET    /ready                      may traffic come?
//	GET    /alive                      should the process go on?
//	GET    /startup                    is the start over?
//	GET    /why                        what this node waits for; text/plain too
//	GET    /why?type=T&id=ID           where an entity is, and what it waits for, by all nodes concerned
//	GET    /loglevel/slog              the level of the log, if it is in Options
//
// and with [Options.Token]:
//
//	POST   /cluster/members            address=A: this node joins through A
//	PUT    /cluster/members/{address}  operation=Leave or Down; Drain or Resume
//	DELETE /cluster/members/{address}  it leaves
//	PUT    /cluster                    operation=prepare-for-full-shutdown
//	PUT    /cluster/shards/{type}/{shard}  operation=Move and to=A, or Release
//	PUT    /loglevel/slog              ?level=L
//
// Answers are made from immutable snapshots of this node, and a change waits only
// for this node to take note; but for the two that ask others, stats and why of an
// entity, where each node has 2 s to answer and who does not is named, and for what
// is done to shards, where who decides takes note or says why not (409). Equal
// states give equal bytes: lists are sorted, and what is not known is absent,
// never null. HEAD is answered like GET.
//
// # Who may change what
//
// Reading is open to everybody who reaches the port. A change needs the header
// "Authorization: Bearer TOKEN". Without one the answer is 401 with a challenge,
// with a wrong one 401 with error="invalid_token" (RFC 6750, section 3), before
// anything is looked up. While no token is set, changes are not there: 405 with
// the methods that are, 403 for the log level and 404 for /cluster, as the tools
// expect of a read-only node. Changes and refusals are logged, the latter
// at most every ten seconds; tokens never are.
//
// # Limits
//
// A body holds 16 KiB at most (413), a change waits 5 s at most (503), a program's
// check 1 s. At most [Options.Streams] streams of events are open (503); a reader that
// falls 128 events behind, or takes nothing for 10 s, loses its stream and connects again. Time-outs
// and the size of headers are those of the [net/http.Server]: set ReadHeaderTimeout and
// MaxHeaderBytes there. Streams outlive its ReadTimeout and WriteTimeout.
//
// Each document is a typed function first ([MembersOf], [ShardTypesOf],
// [ShardsOf], [ClusterShardsOf], [SeedNodesOf], [WhyOf], [EntityWhyOf]) and JSON second, so a program that has the
// node needs no HTTP. All functions and the handler are safe for concurrent use.
package manage
