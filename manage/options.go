package manage

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

const (
	// DefaultRegistrationLimit is how long an entity type without a coordinator
	// keeps a node from being ready.
	DefaultRegistrationLimit = 20 * time.Second
	// DefaultStreams is how many streams of events may be open at a time.
	DefaultStreams = 16
	// DefaultCheckLimit is how long one check of /ready, /alive or /startup may
	// take.
	DefaultCheckLimit = time.Second
)

// Options vary what [Handler] serves; the zero value is usual, and read-only.
type Options struct {
	// BasePath precedes every route, such as "/ops"; empty for none. Slashes at
	// its ends do not matter.
	BasePath string
	// Token lets those who know it change the cluster: they send it as
	// "Authorization: Bearer TOKEN". It has at least 16 characters of those that
	// RFC 6750 allows: letters, digits and -._~+/, and = at the end. Empty:
	// nobody may change anything. It travels readably unless the server speaks
	// TLS or is reached over the loopback interface only.
	Token string
	// Level is what /loglevel/slog shows and changes. Nil: there is no such route.
	Level *slog.LevelVar
	// RegistrationLimit is how long /ready waits for each entity type's region
	// to register with a coordinator, counted from the first question after the
	// node was Up; then the node is ready and the answer names the type as
	// degraded. Zero means [DefaultRegistrationLimit], negative not to wait.
	RegistrationLimit time.Duration
	// Streams is how many /cluster/domain-events may be open at a time; others
	// get 503. Zero means [DefaultStreams].
	Streams int
	// Ready, Alive and Startup are the program's own checks, asked beside those
	// of the node. A failing Alive check means that only a new process helps.
	Ready, Alive, Startup []Check
	// CheckLimit is how long each of them may take. Zero means
	// [DefaultCheckLimit].
	CheckLimit time.Duration
}

func (o Options) withDefaults() Options {
	o.RegistrationLimit = cmp.Or(o.RegistrationLimit, DefaultRegistrationLimit)
	o.Streams = cmp.Or(o.Streams, DefaultStreams)
	o.CheckLimit = cmp.Or(o.CheckLimit, DefaultCheckLimit)
	if o.BasePath = strings.Trim(o.BasePath, "/"); o.BasePath != "" {
		o.BasePath = "/" + o.BasePath
	}
	return o
}

// check tells all that is wrong with the options together.
func (o Options) check() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if o.Token != "" {
		if err := CheckToken(o.Token); err != nil {
			problem("Token: %w", err)
		}
	}
	if o.Streams < 0 {
		problem("Streams is %d: use a positive number, or none for %d", o.Streams, DefaultStreams)
	}
	if o.CheckLimit < 0 {
		problem("CheckLimit is %v: use a positive time, or none for %v", o.CheckLimit, DefaultCheckLimit)
	}
	for _, list := range []struct {
		field  string
		checks []Check
	}{{"Ready", o.Ready}, {"Alive", o.Alive}, {"Startup", o.Startup}} {
		names := map[string]bool{checkNode: true, checkMembership: true, checkSharding: true}
		for _, c := range list.checks {
			if c.Name == "" || c.Ask == nil || names[c.Name] {
				problem("%s: a check needs a function and a name of its own, not %q", list.field, c.Name)
			}
			names[c.Name] = true
		}
	}
	return errors.Join(problems...)
}
