package assay

// Baseline is the variant that changes nothing.
const Baseline = "baseline"

// Variant is what variant.json holds: instructions to try on an agent. The
// overlay is a folder whose files are laid over the workspace; they are no
// part of the agent's diff.
type Variant struct {
	Schema      int    `json:"schema"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// AppendFile is a file of the variant's folder whose text is appended
	// to the agent's system prompt.
	AppendFile string `json:"append_system_prompt_file,omitempty"`
	// Overlay is a folder of the variant's folder, "" for none.
	Overlay string `json:"overlay,omitempty"`
}
