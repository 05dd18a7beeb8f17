package archtest

// Tier is a layer of rooms.
type Tier string

// The tiers, from the bottom.
const (
	Nouns  Tier = "nouns"
	Data   Tier = "data" // files that are built into the program
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
		Data:   {},
		Tools:  {Nouns, Tools},
		Stages: {Nouns, Tools}, // a stage never imports a stage
		Stores: {Nouns, Tools},
		Edges:  {Nouns, Tools}, // and the port that it implements
		Joint:  {Nouns, Tools, Stages, Stores},
		Doors:  {Nouns, Joint},
		Wiring: {Nouns, Data, Tools, Stages, Stores, Edges, Joint, Doors},
		Proof:  {Nouns, Data, Tools, Stages, Stores, Edges, Joint, Doors, Proof},
	}
}

// Row is a room's tier, and single rooms that it may import besides.
type Row struct {
	Tier Tier
	Also []string
	// Door is why the room may read the environment or make a root
	// context as cmd may; "" for nearly all.
	Door string
}

// Table is the import table: a row per room.
type Table map[string]Row

// Rooms is the table of this repository.
func Rooms() Table {
	t := Table{
		// What an edge implements lives with the consumer.
		"docker":  {Tier: Edges, Also: []string{"run"}},
		"local":   {Tier: Edges, Also: []string{"run"}},
		"agent":   {Tier: Edges, Also: []string{"run"}},
		"gateway": {Tier: Edges, Also: []string{"run"}},
		"git":     {Tier: Edges, Also: []string{"mine", "history"}},
		"github":  {Tier: Edges, Also: []string{"mine", "publish"}},
		"actions": {Tier: Edges, Also: []string{"publish"}},
		"patch":   {Tier: Edges},
		"egress":  {Tier: Edges, Also: []string{"run"}},

		"cli": {Tier: Doors, Also: []string{"config", "schema", "stat"}},
		"web": {Tier: Doors, Also: []string{"config", "schema", "stat"}},

		"inbox": {Tier: Tools, Door: "it is the first process of a container: the image's variables come to it by the environment only"},

		// The demo runs on the scripted model and the sample repositories.
		"cmd/assay": {Tier: Wiring, Also: []string{"testkit"}},
	}
	for tier, rooms := range map[Tier][]string{
		Nouns:  {"assay"},
		Data:   {"tasks", "variants"},
		Tools:  {"tree", "stat", "testlog", "schema", "redact", "disk", "atif", "plain"},
		Stages: {"mine", "build", "plan", "run", "grade", "report", "compare", "publish", "modes", "preview", "scaffold"},
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
