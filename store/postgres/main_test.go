package postgres

import (
	"fmt"
	"os"
	"testing"

	"github.com/troupe-go/troupe/store/postgres/postgrestest"
)

var shared *postgrestest.Server // of all tests, and set once, by TestMain

func TestMain(m *testing.M) { os.Exit(withServer(m.Run)) }

func withServer(run func() int) int {
	s, err := postgrestest.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "remove the PostgreSQL of our own:", err)
		}
	}()
	shared = s
	return run()
}
