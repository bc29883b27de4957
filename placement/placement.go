// Package placement decides where shards live. SKELETON.
package placement

type Strategy interface{ Name() string }
