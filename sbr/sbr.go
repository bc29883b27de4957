// Package sbr decides who survives. SKELETON.
package sbr

type Strategy interface{ Name() string }
