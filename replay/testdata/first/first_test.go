// Package first has a fault that shows in some schedules only. It is no package
// of the module's: the tests of replay run it.
package first

import (
	"testing"
	"testing/synctest"
	"time"
)

// Two goroutines wake at one instant, and who comes first is chance; the code
// believes that it is always the same one.
func TestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		came := make(chan string, 2)
		for _, name := range []string{"reader", "writer"} {
			go func() {
				time.Sleep(time.Second)
				came <- name
			}()
		}
		synctest.Wait()
		if first := <-came; first != "reader" {
			t.Errorf("the %s came first", first)
		}
		<-came
	})
}
