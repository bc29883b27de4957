package report

// bars are what the subject is to reach, by ratio to what others did in the
// same measurement: change them here and nowhere else.
var bars = []Bar{
	{Work: "tell-1-1", Of: Value, Than: system("channel"), AtLeast: 1},
	{Work: "tell-1-1", Of: Allocs, AtMost: none},
	{Work: "tell-2-1", Of: Value, Than: system("channel"), AtLeast: 1},
	{Work: "tell-2-1", Of: Allocs, AtMost: none},
	{Work: "fanout-1000", Of: Value, Than: system("channel"), AtLeast: 1},
	{Work: "ask-1", Of: Value, Than: system("channel"), AtMost: 1.5},
	{Work: "ask-1", Of: Allocs, AtMost: 1},
	{Work: "ask-64", Of: Value, Than: system("channel"), AtLeast: 0.7},
	{Work: "ask-64", Of: Allocs, AtMost: 1},
	{Work: "pingpong", Of: Value, Than: system("channel"), AtLeast: 0.9},
	{Work: "spawn-1m", Of: Value, Than: system("batch"), AtLeast: 0.6},
	{Work: "idle-bytes", Of: Value, AtMost: 350},
	{Work: "skynet-1m", Of: Value, Than: system("channel"), AtMost: 1.7},
	{Work: "remote-tell-1-1", Of: Value, Than: system("frames"), AtLeast: 0.5},
	{Work: "remote-tell-1-1", Of: Allocs, AtMost: 2},
	{Work: "remote-tell-64-1", Of: Value, Than: system("frames"), AtLeast: 0.5},
	{Work: "remote-tell-64-1", Of: Allocs, AtMost: 2},
	{Work: "remote-ask-1", Of: P50, Than: bestPeer, AtMost: 1},
	{Work: "remote-ask-64", Of: Value, Than: system("frames"), AtLeast: 0.7},
	{Work: "sharded-ask-64", Of: Value, Than: own("remote-ask-64"), AtLeast: 1 / 1.2},
	{Work: "sharded-ask-64", Of: P99, Than: bestPeer, AtMost: 1},
	{Work: "sharded-tell-local", Of: Value, Than: own("tell-1-1"), AtLeast: 1 / 1.5},
}

// none is what a whole run may allocate per operation when an operation
// allocates nothing.
const none = 0.01

var bestPeer = Yardstick{BestPeer: true}

func system(name string) Yardstick { return Yardstick{System: name} }
func own(work string) Yardstick    { return Yardstick{System: Subject, Work: work} }
