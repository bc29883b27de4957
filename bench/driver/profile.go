package driver

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profiler writes the profile of one process.
type profiler struct{ file *os.File }

func (p *profiler) start(path string) (err error) {
	if p.file, err = os.Create(path); err != nil {
		return err
	}
	return pprof.StartCPUProfile(p.file)
}

func (p *profiler) stop() error {
	pprof.StopCPUProfile()
	return p.file.Close()
}

// startProfiles begins to profile all processes of the run, if that was wished.
func (r *Run) startProfiles() (stop func() error, err error) {
	if r.profile == "" {
		return func() error { return nil }, nil
	}
	for i, p := range r.peers {
		if _, err := fmt.Fprintf(p.in, "%s %s.%d\n", askProfile, r.profile, i+1); err != nil {
			return nil, err
		}
	}
	var own profiler
	if err := own.start(r.profile); err != nil {
		return nil, err
	}
	return func() error {
		errs := []error{own.stop()}
		for _, p := range r.peers {
			_, err := fmt.Fprintln(p.in, askProfiled)
			errs = append(errs, err)
		}
		for _, p := range r.peers { // an answer means that what was asked before is done
			_, err := p.mallocs()
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}, nil
}
