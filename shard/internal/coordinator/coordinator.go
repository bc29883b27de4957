// Package coordinator decides where the shards of one entity type live.
//
// A [Core] is a pure machine on every node; it acts only while this node is the
// oldest Up member with the type's role, and is nothing but memory of removed
// nodes otherwise. What it knows of homes it asked from the regions that host
// them, so a new coordinator needs nobody's notes. It promises, with any number
// of coordinators at a time, that a shard is given out only when its last owner
// has confirmed its stop, or was removed long enough ago, and that each owner
// has a higher epoch than the one before.
package coordinator
