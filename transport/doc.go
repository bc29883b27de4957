// Package transport carries frames between the nodes of a cluster.
//
// A node opens one [Endpoint] and sends payloads to other nodes by identity. The
// package knows bytes, lanes and incarnations; what the payloads mean is the
// node's business. [TCP] links processes, [Memory] links nodes of one process in
// tests; both run the same links, handshake and frames over different streams.
//
// # What is promised
//
// At most once: a frame is delivered once or not at all, never again after a
// link broke. Frames of one sender in one lane arrive in the order of the calls
// to Send that accepted them; lanes do not wait for each other, and the Control
// lane never waits behind user messages, however large. A lane has many streams
// ([Lane.Stream]): a frame of more than 64 KiB holds up its own stream and no
// other, and the price is that between streams order does not hold around it.
// Frames are for exactly one incarnation: a restarted process gets none of its
// predecessor's.
//
// What is lost is never lost in silence. Send returns an error when it did not
// take a frame; a frame that was taken and is dropped later is counted by reason
// in [Stats]; frames that were written when a link broke may be lost without
// anybody knowing how many, which is what [Handler].LinkDown reports.
//
// # Links: each side dials for itself
//
// A link is one direction: the connections that one node dialed to one
// incarnation of a peer. Whoever dials writes frames and whoever accepts reads
// them, so two nodes that dial each other at the same moment have no conflict to
// settle. Every lane has its own connection, dialed when the lane is first used,
// because a 10 MiB message in a shared stream would hold up the heartbeat behind
// it. The connections of a link share one fate: when one breaks, all are closed,
// LinkDown is reported once, and the link is made anew. Rounds of a link are
// numbered, so that the accepting side never mistakes a late connection for the
// current one.
//
// Alternatives (ADR 8): one connection for both directions needs a rule for simultaneous
// dials and a switch in the middle of a stream, where gaps and repeats live; one
// connection for all lanes needs chunking and credit to keep heartbeats on time.
// The cost of this choice is connections: two per busy lane and pair of nodes.
//
// The other direction of a connection carries the answer to the handshake and at
// most one goodbye that says why the accepting side ends it.
//
// # Security
//
// [Config].TLS secures links by certificates that name the node's host,
// [Config].Secret by a secret that all nodes share, which both sides prove inside
// a TLS session that the proof is bound to (ADR 13). Either gives TLS 1.3.
// Handshakes that are not finished are bounded in number and time, so strangers
// cost little and keep nobody out; what is refused is counted by reason and
// logged once in a while.
//
// # Frames
//
// A frame is a length of four bytes and the payload; one of more than 64 KiB
// comes in several parts, with others' frames between them. There is no checksum:
// TCP and TLS have theirs, and the payload's decoder is strict. The accepting side
// checks a length against its limit before it reads on, and what it holds grows
// with the bytes that arrive, never with the length that was claimed.
//
// # Concurrency and blocking
//
// All methods of Endpoint may be called from any goroutine; only Close blocks.
// Send copies the payload into the lane's queue, which is bounded in bytes; one
// goroutine per connection writes what has gathered in one large write, at once
// when it was idle. [Handler].Receive is called in order for each lane of a peer
// and never twice at a time for it; a slow Receive holds up only that lane of
// that peer. LinkUp and LinkDown of one peer are in order, too.
package transport
