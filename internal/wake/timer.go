package wake

import "time"

// Until is for how long a loop sets its timer to be woken at t: never less than a
// nanosecond. A timer that is due when it is set fires on the thread of whoever
// waits for it; two of those at once break the race detector inside a synctest
// bubble, where all timers share its context (golang/go#78156).
func Until(t time.Time) time.Duration { return max(time.Until(t), time.Nanosecond) }
