package sbr

// DownAll downs everybody when anybody is unreachable. It suits those for whom
// a restart of all is better than any doubt.
type DownAll struct{}

// Name is "down-all".
func (DownAll) Name() string { return "down-all" }

func (DownAll) choose(*sides) verdict {
	return verdict{action: DownEverybody, reason: "the strategy downs everybody when anybody is unreachable"}
}
