package main

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
)

// newLog writes for people on a terminal, and for machines elsewhere.
func newLog(w io.Writer, level slog.Leveler) *slog.Logger {
	if isTerminal(w) {
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: "15:04:05.000"}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
}

// isTerminal tells whether colours are welcome at w: see no-color.org.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
