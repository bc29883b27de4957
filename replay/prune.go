package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// kept is how many builds' machine code stays, some 75 MB each.
const kept = 8

// prune deletes all files below a folder but the newest. What cannot be deleted
// stays for the next time, and so does what another process has just deleted.
func prune(dir string, keep int) {
	var files []fs.FileInfo
	paths := map[fs.FileInfo]string{}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files, paths[info] = append(files, info), path
		}
		return nil
	})
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, old := range files[min(keep, len(files)):] {
		_ = os.Remove(paths[old])
	}
}
