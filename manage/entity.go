package manage

import (
	"net/http"

	"github.com/troupe-go/troupe/internal/member"
	"github.com/troupe-go/troupe/shard"
)

// EntityWhy tells where an entity is or should be, and what it waits for, by the
// accounts of all nodes that have a part in that.
type EntityWhy struct {
	Type     string    `json:"type"`
	ID       string    `json:"id"`
	Shard    string    `json:"shardId,omitempty"`
	At       string    `json:"at"`             // of the question, RFC 3339; all times are by the clock of the node asked
	Home     string    `json:"home,omitempty"` // absent: none that is known
	Accounts []Account `json:"accounts"`       // of the node asked, of who decides, of the host
	Problem  string    `json:"problem,omitempty"`
}

// Account is what one node tells.
type Account struct {
	Node  string `json:"node"`
	Part  string `json:"part"` // asked, decides or hosts: the first that is true
	State string `json:"state,omitempty"`
	Waits []Wait `json:"waits"`           // empty: it waits for nothing there
	Error string `json:"error,omitempty"` // it gave no account
}

// EntityWhyOf makes the document.
func EntityWhyOf(n Namer, w shard.Why) EntityWhy {
	uri := uriOf(n)
	doc := EntityWhy{
		Type: w.Type, ID: w.ID, Shard: w.Shard, At: stamp(w.At), Problem: w.Problem,
		Accounts: make([]Account, 0, len(w.Accounts)),
	}
	if !w.Home.IsZero() {
		doc.Home = uri(w.Home.Address)
	}
	for _, a := range w.Accounts {
		told := Account{Node: uri(a.Node.Address), Part: a.Part, State: a.State, Waits: waitsOf(n, a.Waits)}
		if a.Err != nil {
			told.Error = a.Err.Error()
		}
		doc.Accounts = append(doc.Accounts, told)
	}
	return doc
}

func (h *handler) entityWhy(w http.ResponseWriter, r *http.Request, typeName, id string) {
	if typeName == "" || id == "" {
		writeMessage(w, http.StatusBadRequest, "Name both an entity: ?type=TYPE&id=ID")
		return
	}
	region, ok := regionNamed(h.types.regions(), typeName)
	if !ok {
		writeMessage(w, http.StatusNotFound, "Shard Region "+typeName+" is not started")
		return
	}
	why := region.Why(r.Context(), id)
	if prefersText(r.Header.Get("Accept")) {
		writeText(w, http.StatusOK, why.String())
		return
	}
	writeJSON(w, http.StatusOK, EntityWhyOf(h.node, why))
}

// troubles are what the types of a node wait for, for longer than they may, among
// the waits of the node.
func troubles(regions []shard.Region) (waits []member.Wait) {
	for _, t := range shard.Health(regions) {
		w := t.Wait
		w.Why = "entity type " + t.Type + shardNamed(t.Shard) + ": " + w.Why
		waits = append(waits, w)
	}
	return waits
}

func shardNamed(shard string) string {
	if shard == "" {
		return ""
	}
	return ", shard " + shard
}
