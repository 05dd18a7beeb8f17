package archtest

// Tier is a layer of rooms.
type Tier string

// The tiers, from the bottom.
const (
	Nouns  Tier = "nouns"
	Tools  Tier = "tools"
	Stages Tier = "stages"
	Stores Tier = "stores"
	Edges  Tier = "edges"
	Joint  Tier = "joint"
	Doors  Tier = "doors"
	Wiring Tier = "wiring"
	Proof  Tier = "proof"
)

// tiers says what each tier may import.
func tiers() map[Tier][]Tier {
	return map[Tier][]Tier{
		Nouns:  {},
		Tools:  {Nouns, Tools},
		Stages: {Nouns, Tools}, // a stage never imports a stage
		Stores: {Nouns, Tools},
		Edges:  {Nouns, Tools}, // and the port that it implements
		Joint:  {Nouns, Tools, Stages, Stores},
		Doors:  {Nouns, Joint},
		Wiring: {Nouns, Tools, Stages, Stores, Edges, Joint, Doors},
		Proof:  {Nouns, Tools, Stages, Stores, Edges, Joint, Doors, Proof},
	}
}

// Row is a room's tier, and single rooms that it may import besides.
type Row struct {
	Tier Tier
	Also []string
}

// Table is the import table: a row per room.
type Table map[string]Row

// Rooms is the table of this repository.
func Rooms() Table {
	t := Table{
		// What an edge implements lives with the consumer.
		"docker":  {Edges, []string{"run"}},
		"local":   {Edges, []string{"run"}},
		"agent":   {Edges, []string{"run"}},
		"gateway": {Edges, []string{"run"}},
		"git":     {Edges, []string{"mine"}},
		"github":  {Edges, []string{"mine", "publish"}},
		"actions": {Edges, []string{"publish"}},
		"patch":   {Edges, nil},

		"cli": {Doors, []string{"config", "schema", "stat"}},
		"web": {Doors, []string{"config", "schema", "stat"}},

		// The demo runs on the scripted model and the sample repositories.
		"cmd/assay": {Wiring, []string{"testkit"}},
	}
	for tier, rooms := range map[Tier][]string{
		Nouns:  {"assay"},
		Tools:  {"tree", "stat", "testlog", "schema", "redact", "disk", "inbox", "atif"},
		Stages: {"mine", "build", "plan", "run", "grade", "report", "compare", "publish"},
		Stores: {"suite", "ledger", "config", "candidates", "history"},
		Joint:  {"flow"},
		Proof:  {"archtest", "sandboxtest", "testkit"},
	} {
		for _, r := range rooms {
			t[r] = Row{Tier: tier}
		}
	}
	return t
}
